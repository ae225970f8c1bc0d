# Keeps jobs that have failed for good, whatever else becomes of them. Errors that `retry_on` takes again, or that a block
# of `retry_on` or `discard_on` deals with, never leave `perform_now`; what does would be the end of the job.
module DeadLetters
  def deserialize(job_data)
    @job_data = job_data # as the queue had it, whatever `perform` makes of its arguments
    super
  end

  def perform_now
    super
  rescue StandardError, ScriptError, SystemStackError => error
    dead_letter(error) if @job_data # who calls `perform_now` by hand gets the error, and nothing is dead
    raise
  end

  # For blocks of `retry_on` and `discard_on`: `{ |job, error| job.dead_letter(error) }`.
  def dead_letter(error)
    DeadLetterJob.capture((@job_data || serialize).merge("executions" => executions), error)
  end
end
