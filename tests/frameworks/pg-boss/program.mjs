// Runs with both lines: MODULE names the package, whose version decides what its queues know.
const { MODULE = "pg-boss" } = process.env;
import { database, jobs, main, payload, run, say } from "../npm/shop.mjs";

const library = await import(MODULE);
const PgBoss = library.PgBoss ?? library.default;
const current = MODULE === "pg-boss";
const boss = new PgBoss({ connectionString: database, supervise: false, schedule: false });
boss.on("error", (error) => console.error(error));

// A queue for each kind. What is not named here is a plain queue that tries once.
const queues = {
  plain: {}, multiline: {}, empty: {}, unicode: {}, big: {}, cause: {}, string: {}, object: {},
  twice: { retryLimit: 1, retryDelay: 0 },
  copied: { deadLetter: "shop_graveyard" },
  short: { policy: "short" },
  singleton: { policy: "singleton" },
  stately: { policy: "stately" },
  ...(current && {
    exclusive: { policy: "exclusive" },
    partitioned: { partition: true },
    fifo: { policy: "key_strict_fifo" },
    notified: { notify: true },
  }),
};
const name = (kind) => `shop_${kind}`;
const keyed = new Set(["short", "singleton", "stately", "exclusive", "fifo"]);
const each = async (work) => { for (const kind of Object.keys(queues)) await work(kind); };
const column = async (sql, values) => (await boss.getDb().executeSql(sql, values)).rows;
const queueOf = async (id) => (await column("select name from pgboss.job where id = $1::uuid", [id]))[0].name;

await boss.start();
await main({
  async install() {
    await boss.createQueue("shop_graveyard", { retryLimit: 0 });
    await each((kind) => boss.createQueue(name(kind), { name: name(kind), retryLimit: 0, ...queues[kind] }));
  },

  async enqueue(...words) {
    for (const [kind, marker] of jobs(words)) {
      const options = keyed.has(kind) ? { singletonKey: "nightly" } : {};
      const id = await boss.send(name(kind), payload(kind, marker), options);
      say({ enqueued: marker, kind, id });
    }
  },

  async work(how) {
    const handler = (kind) => async ([job]) => run(how === "failing", kind, job.data.marker);
    await each((kind) => boss.work(name(kind), { pollingIntervalSeconds: 0.5, batchSize: 1 }, handler(kind)));
    // Two seconds are now: who puts a job back may round.
    const live = `select id from pgboss.job where name <> 'shop_graveyard' and (state = 'active'
      or state in ('created', 'retry') and start_after <= now() + interval '2 s') limit 1`;
    while ((await column(live)).length > 0) await new Promise((done) => setTimeout(done, 100));
  },

  async retry(...ids) {
    for (const id of ids) {
      await boss.retry(await queueOf(id), id);
      say({ retried: id });
    }
  },

  async "retry-all"() {
    const began = performance.now();
    let retried = 0;
    await each(async (kind) => {
      const dead = await column("select id from pgboss.job where name = $1 and state = 'failed'", [name(kind)]);
      if (dead.length > 0) await boss.retry(name(kind), dead.map((job) => job.id));
      retried += dead.length;
    });
    say({ retried, ms: performance.now() - began });
  },

  async maintain() {
    await (boss.maintain ? boss.maintain() : boss.supervise());
  },

  async delete(...ids) {
    for (const id of ids) await boss.deleteJob(await queueOf(id), id);
  },
});
await boss.stop({ graceful: true, wait: true, timeout: 5000 });
process.exit(0);
