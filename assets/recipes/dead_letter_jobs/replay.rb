# What dlq-tui starts for each batch of a replay: a job in each line of the input, an answer for each as soon as the queue
# has it.
$stdout.sync = true
$stdin.each_line do |line|
  job = JSON.parse(line)
  begin
    # Under the id that it had: where it dies again, its row is used again. Without this line it runs under a new id,
    # for queues that keep ids of jobs unique, and a row is added.
    job["job_id"] = DeadLetterJob.find(job["id"]).job_id
    ActiveJob::Base.deserialize(job).enqueue or raise "a callback stopped it"
    answer = { id: job["id"], ok: true }
  rescue StandardError => error
    answer = { id: job["id"], ok: false, error: "#{error.class}: #{error.message}" }
  end
  puts answer.to_json
end
