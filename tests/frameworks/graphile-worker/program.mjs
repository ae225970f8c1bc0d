import { makeWorkerUtils, runOnce, Logger } from "graphile-worker";
import { database, jobs, main, payload, run, say } from "../npm/shop.mjs";

const quiet = new Logger(() => () => {});
const options = { connectionString: database, logger: quiet };
const kinds = ["plain", "multiline", "empty", "unicode", "big", "twice", "string", "undefined", "queued", "keyed", "flagged"];
const spec = (kind, marker) => ({
  maxAttempts: kind === "twice" ? 2 : 1,
  ...(kind === "queued" && { queueName: "mailers" }),
  ...(kind === "keyed" && { jobKey: `order:${marker}` }),
  ...(kind === "flagged" && { flags: ["eu", "vip"], priority: -5 }),
});

const utils = await makeWorkerUtils(options);
const column = async (sql) => (await utils.withPgClient((client) => client.query(sql))).rows.map((row) => row.id);

await main({
  install: () => utils.migrate(),

  async enqueue(...words) {
    for (const [kind, marker] of jobs(words)) {
      const job = await utils.addJob(`shop:${kind}`, payload(kind, marker), spec(kind, marker));
      say({ enqueued: marker, kind, id: String(job.id) });
    }
  },

  async work(how) {
    const task = (kind) => async (args) => run(how === "failing", kind, args.marker);
    const taskList = Object.fromEntries(kinds.map((kind) => [`shop:${kind}`, task(kind)]));
    for (;;) {
      await runOnce({ ...options, taskList, concurrency: 4 });
      // Two seconds are now: who puts a job back may round. What waits for its next attempt is called forward.
      const soon = how === "failing" ? "" : "and run_at <= now() + interval '2 s'";
      const live = `select id from graphile_worker.jobs where attempts < max_attempts and locked_at is null ${soon}`;
      const waiting = await column(live);
      if (waiting.length === 0) break;
      await utils.rescheduleJobs(waiting, { runAt: new Date() });
    }
  },

  // rescheduleJobs(ids, { attempts: 0 }) sends NULL for the attempts; the function that it calls does what its name says.
  async retry(...ids) {
    const sql = "select id from graphile_worker.reschedule_jobs($1::bigint[], run_at := now(), attempts := 0)";
    await utils.withPgClient((client) => client.query(sql, [ids]));
    for (const id of ids) say({ retried: id });
  },

  async "retry-all"() {
    const began = performance.now();
    const dead = "select id from graphile_worker._private_jobs where attempts >= max_attempts and locked_at is null";
    const sql = `select count(*)::int as id from graphile_worker.reschedule_jobs(array(${dead}), run_at := now(), attempts := 0)`;
    const [retried] = await column(sql);
    say({ retried, ms: performance.now() - began });
  },

  async discard(...ids) {
    await utils.permanentlyFailJobs(ids, "given up by an operator");
  },

  async delete(...ids) {
    await utils.completeJobs(ids);
  },
});
await utils.release();
