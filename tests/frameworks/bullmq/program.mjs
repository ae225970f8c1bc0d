// Runs with all lines: MODULE names the package, whose version decides where its jobs wait.
const { MODULE = "bullmq" } = process.env;
import { createRequire } from "node:module";
import { database, jobs, main, payload, run, say } from "../npm/shop.mjs";

// Its module for `import` names no version of its own packages; that for `require` does.
const { Queue, Worker } = createRequire(import.meta.url)(MODULE);
const path = decodeURIComponent(database.replace(/^(unix|redis\+unix):\/\//, ""));
const connection = { path, maxRetriesPerRequest: null };
const queue = new Queue("orders", { connection });

// What is not named here tries once.
const options = {
  twice: { attempts: 2, backoff: { type: "fixed", delay: 0 } },
  urgent: { priority: 3 },
  lifo: { lifo: true },
};

await main({
  async install() {
    await queue.waitUntilReady();
  },

  async enqueue(...words) {
    for (const [kind, marker] of jobs(words)) {
      const job = await queue.add(kind, payload(kind, marker), { removeOnComplete: false, ...options[kind] });
      say({ enqueued: marker, kind, id: job.id });
    }
  },

  async work(how) {
    const worker = new Worker("orders", async (job) => run(how === "failing", job.name, job.data.marker), {
      connection, concurrency: 1, name: "worker-eu-1",
    });
    const open = async () => {
      const counts = await queue.getJobCounts("active", "waiting", "delayed", "prioritized");
      return Object.values(counts).some((n) => n > 0);
    };
    await worker.waitUntilReady();
    while (await open()) await new Promise((done) => setTimeout(done, 20));
    await worker.close();
  },

  async retry(...ids) {
    for (const id of ids) {
      await (await queue.getJob(id)).retry("failed");
      say({ retried: id });
    }
  },

  async "retry-all"() {
    const began = performance.now();
    const retried = await queue.getFailedCount();
    await queue.retryJobs({ state: "failed" });
    say({ retried, ms: performance.now() - began });
  },

  async delete(...ids) {
    for (const id of ids) await queue.remove(id);
  },

  async pause() {
    await queue.pause();
  },
});
await queue.close();
process.exit(0);
