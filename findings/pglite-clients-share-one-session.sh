#!/bin/sh
# Clients of PGlite's socket server share one session, and nothing ends a statement early.
#
# package    npm @electric-sql/pglite 0.5.14 (PostgreSQL 18.6), @electric-sql/pglite-socket 0.2.17, pg 8.23.1
# source     https://www.npmjs.com/package/@electric-sql/pglite-socket, https://pglite.dev/docs/pglite-socket
# guess      What speaks PostgreSQL's protocol gives each connection a session of its own in the database that it names, and ends a
#            statement at statement_timeout.
# behaviour  CREATE DATABASE succeeds, and a connection to the new database is one to "postgres". A SET of one client holds for all
#            others and outlives the client. A statement runs to its end whatever statement_timeout says.
# output     connected to new: postgres
#            timezone of another client: Asia/Kathmandu
#            statement_timeout of 50 ms: count 3000000
set -eu
folder=$(mktemp -d)
clean() {
    [ ! -f "$folder/pid" ] || kill "$(cat "$folder/pid")" 2>/dev/null || true
    rm -rf "$folder"
}
trap clean EXIT
trap 'exit 1' INT TERM
cd "$folder"
npm install --silent --no-audit --no-fund --no-save --ignore-scripts @electric-sql/pglite@0.5.14 \
    @electric-sql/pglite-socket@0.2.17 pg@8.23.1 >&2
port=$((20000 + $$ % 20000))
node node_modules/@electric-sql/pglite-socket/dist/scripts/server.js --port="$port" --max-connections=9 >"$folder/log" 2>&1 &
echo $! >"$folder/pid"
cat >run.js <<'J'
const { Client } = require("pg");
async function connect(database) {
  for (let tries = 0; ; tries++) {
    const client = new Client({ host: "127.0.0.1", port: +process.argv[2], user: "postgres", password: "postgres", database });
    try { await client.connect(); return client; } catch (e) {
      if (tries > 600) throw e;
      await new Promise((done) => setTimeout(done, 100));
    }
  }
}
(async () => {
  const one = await connect("postgres");
  const value = async (client, sql) => String(Object.values((await client.query(sql)).rows[0])[0]);
  await one.query("create database new");
  await one.query("set timezone = 'Asia/Kathmandu'");
  await one.query("set statement_timeout = '50ms'");
  await one.end();
  const other = await connect("new");
  const database = await value(other, "select current_database()");
  const zone = await value(other, "show timezone");
  let counted;
  const began = Date.now();
  try { counted = await value(other, "select count(*) from generate_series(1, 3000000)"); } catch (e) { counted = e.message; }
  console.log(`connected to new: ${database}\ntimezone of another client: ${zone}\nstatement_timeout of 50 ms: count ${counted}`);
  await other.end();
  process.exit([database, zone, counted].join() === "postgres,Asia/Kathmandu,3000000" && Date.now() - began > 50 ? 0 : 1);
})();
J
node run.js "$port"
