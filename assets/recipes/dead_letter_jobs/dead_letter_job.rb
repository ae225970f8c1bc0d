require "socket"

class DeadLetterJob < ActiveRecord::Base
  # A connection of its own: the row stays where a transaction around the job is rolled back.
  establish_connection ActiveRecord::Base.connection_db_config

  # Hashes and arrays become JSON once, whether the column is jsonb or text.
  %i[arguments error_backtrace metadata].each { |name| attribute name, :json }
  %i[failed_at created_at updated_at].each { |name| attribute name, :datetime }

  # Writes or overwrites the row of a job; `job` is a hash as ActiveJob's `serialize` makes it. Never raises: the error
  # of the job is what its queue has to see.
  def self.capture(job, error)
    now = Time.now.utc
    row = {
      job_class: job["job_class"], queue_name: job["queue_name"], arguments: job["arguments"],
      error_class: error.class.to_s.first(255), error_message: text(error.message),
      error_backtrace: (error.backtrace || []).first(200).map { |line| text(line) },
      # Whole and anew: what an earlier replay noted here must not speak for this death.
      metadata: job.slice("executions", "priority", "locale", "timezone").merge("hostname" => Socket.gethostname, "pid" => $$),
      status: "failed", failed_at: now, updated_at: now
    }
    tries = 0
    begin
      where(job_id: job["job_id"]).update_all(row).positive? ||
        create!(row.merge(id: SecureRandom.uuid, job_id: job["job_id"]))
    rescue ActiveRecord::RecordNotUnique # somebody else wrote it between the two
      (tries += 1) < 3 ? retry : raise
    end
  rescue StandardError => failure
    ActiveJob::Base.logger&.error("no dead letter for #{job.to_json}: #{failure.class}: #{failure.message}")
  end

  # Databases take neither invalid UTF-8 nor, some of them, NUL.
  def self.text(value)
    value = value.to_s.dup
    value.force_encoding(Encoding::UTF_8) if value.encoding == Encoding::BINARY
    value.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub.delete("\0")
  end
  private_class_method :text
end
