require "json"
require "erb"
require "logger"
require "rails/version"
require "active_record"
require "active_job"
require "delayed_job_active_record"

VERB, *WORDS = ARGV
BROKEN = WORDS.first == "failing"
OTHERWISE = WORDS == %w[failing otherwise]
$stdout.sync = true

url = ENV.fetch("DATABASE_URL")
ActiveRecord::Base.establish_connection(url.start_with?("mysql:") ? "#{url.sub('mysql', 'mysql2')}?encoding=utf8mb4" : url)
ActiveRecord.respond_to?(:default_timezone=) ? ActiveRecord.default_timezone = :utc : ActiveRecord::Base.default_timezone = :utc
ActiveRecord::Migration.verbose = false
ActiveJob::Base.logger = Delayed::Worker.logger = Logger.new(File::NULL)
# Otherwise dead jobs are deleted.
Delayed::Worker.destroy_failed_jobs = false
Delayed::Worker.max_attempts = 1

def say(line) = puts(JSON.generate(line))

module Shop
  class PaymentDeclined < StandardError; end
  class LookupError < StandardError; end

  HIDDEN = {
    "unicode" => { "naïve" => "ключ 💥", "rtl" => "שלום", "escape" => "\e[31mred" },
    "big" => { "lines" => Array.new(800) { |n| { "n" => n, "text" => "x" * 30 } } },
  }.freeze

  def self.payload(kind, marker)
    { "marker" => marker, "kind" => kind, "amount" => "12.50" }.merge(HIDDEN.fetch(kind, {}))
  end

  # Raises as jobs of this kind do; `otherwise` all the same, which is none of theirs.
  def self.fail!(kind, marker)
    raise LookupError, "nothing known of #{marker}" if OTHERWISE

    case kind
    when "multiline" then raise PaymentDeclined, "first line of #{marker}\nsecond line\n\n    an indented one"
    when "empty" then raise PaymentDeclined, ""
    when "unicode" then raise TypeError, "ошибка #{marker} — 失敗 💥 \abell"
    when "big" then raise "#{marker} #{'too much ' * 500}"
    when "cause"
      begin
        {}.fetch("inner of #{marker}")
      rescue KeyError
        raise "outer of #{marker}"
      end
    else raise PaymentDeclined, "declined: #{marker}"
    end
  end

  # Runs a job: raises where the world is broken, and says in either case what happened.
  def self.run(kind, marker)
    return say(ran: marker, kind: kind, ok: true) unless BROKEN
    fail!(kind, marker)
  rescue StandardError => e
    say(ran: marker, kind: kind, ok: false, class: e.class.name, message: e.message)
    raise
  end

  # The four shapes that handlers have: a struct, an object, a method of a class, a job of ActiveJob.
  Charge = Struct.new(:marker, :kind, :details) do
    def perform = Shop.run(kind, marker)
    def max_attempts = kind == "twice" ? 2 : 1
    def reschedule_at(now, _attempts) = now
  end

  class Letter
    def initialize(marker, details)
      @marker = marker
      @details = details
    end

    def perform = Shop.run("object", @marker)
  end

  def self.settle(marker, _details) = run("method", marker)

  class MailJob < ActiveJob::Base
    self.queue_adapter = :delayed_job
    queue_as :mailers

    def perform(details) = Shop.run("activejob", details["marker"])
  end

  # While the world is broken, a deployment has lost this class.
  Lost = Struct.new(:marker) { def perform = Shop.run("lost", marker) } unless BROKEN
end

def enqueue(kind, marker)
  details = Shop.payload(kind, marker)
  case kind
  when "object" then Delayed::Job.enqueue(Shop::Letter.new(marker, details))
  when "method" then Shop.delay(queue: "reports", priority: 5).settle(marker, details)
  when "activejob" then return Shop::MailJob.perform_later(details).provider_job_id
  when "lost" then Delayed::Job.enqueue(Shop::Lost.new(marker))
  else Delayed::Job.enqueue(Shop::Charge.new(marker, kind, details))
  end.id
end

case VERB
when "install"
  template = Gem.find_files("generators/delayed_job/templates/migration.rb").first
  migration_version = "[#{ActiveRecord::Migration.current_version}]"
  eval(ERB.new(File.read(template)).result(binding))
  CreateDelayedJobs.up
when "enqueue"
  WORDS.each do |word|
    kind, marker = word.split("/", 2)
    say(enqueued: marker, kind: kind, id: enqueue(kind, marker).to_s)
  end
when "work"
  # A worker that goes in order unlocks even dead rows; those of one that was killed, or still runs, stay locked.
  Delayed::Worker.plugins.delete(Delayed::Plugins::ClearLocks)
  worker = Delayed::Worker.new(exit_on_complete: true)
  Delayed::Worker.lifecycle.before(:failure) do |_worker, job|
    marker = job.handler[/Shop::Lost.*\nmarker: (\S+)/, 1]
    say(ran: marker, kind: "lost", ok: false, class: nil, message: job.error.message) if marker
  end
  loop do
    worker.start
    # Two seconds are now: who puts a job back may round.
    break if Delayed::Job.where(failed_at: nil).where("run_at <= ?", Delayed::Job.db_time_now + 2).none?
    sleep 0.05
  end
when "retry"
  # The gem has no retry. This is what its web page does ("reload"); its "requeue" leaves the lock, and no worker comes.
  Delayed::Job.where(id: WORDS).find_each do |job|
    job.update!(run_at: Delayed::Job.db_time_now, failed_at: nil, locked_by: nil, locked_at: nil, last_error: nil, attempts: 0)
    say(retried: job.id.to_s)
  end
when "delete"
  Delayed::Job.where(id: WORDS).destroy_all
else abort("no such verb: #{VERB}")
end
