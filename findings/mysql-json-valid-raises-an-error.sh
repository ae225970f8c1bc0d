#!/bin/sh
# JSON_VALID of MySQL ends the statement with an error where a text has more than a hundred levels of JSON.
#
# package    Debian mysql-server-core 9.7.4-2 (MySQL 9.7.4), npm mysql2 3.22.0
# source     https://packages.debian.org/sid/mysql-server-core, https://dev.mysql.com/doc/refman/9.7/en/json-attribute-functions.html
# guess      JSON_VALID() says 1, 0 or NULL of any text, so that IF(JSON_VALID(payload), …, NULL) guards a list of jobs whose payloads
#            are text: at the worst it calls one of them no JSON.
# behaviour  A text of 101 nested arrays, which other parsers read, is neither: the statement fails with 3157, and with it every other
#            row that it would have returned. No function tells the depth without the same error.
# output     100 levels: 1
#            no JSON: 0
#            101 levels: ER_JSON_DOCUMENT_TOO_DEEP 3157
#            a table with one such row: ER_JSON_DOCUMENT_TOO_DEEP 3157
set -eu
project=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
clean() {
    [ ! -f "$folder/pid" ] || kill "$(cat "$folder/pid")" 2>/dev/null || true
    sleep 3
    rm -rf "$folder"
}
trap clean EXIT
trap 'exit 1' INT TERM
"$project/scripts/unpack-server" mysql "$folder/mysql" >&2
root=$folder/mysql/root
version=$(zcat "$root/usr/share/doc/mysql-server-core/changelog.Debian.gz" | head -n 1)
case $version in *"(9.7.4-2)"*) ;; *) echo "another version: $version"; exit 1 ;; esac
loader=$(find "$root/usr/lib64" "$root/usr/lib" -maxdepth 1 -name 'ld-linux*' 2>/dev/null | head -n 1)
libraries=$(find "$root/usr/lib" -maxdepth 1 -name '*-linux-gnu' | head -n 1)
port=$((20000 + $$ % 20000))
as=""
[ "$(id -u)" != 0 ] || as=--user=root
server() {
    "$loader" --library-path "$libraries:$root/usr/lib/mysql/private" "$root/usr/sbin/mysqld" --no-defaults --datadir="$folder/data" \
        --basedir="$root/usr" --lc-messages-dir="$root/usr/share/mysql" --secure-file-priv=NULL $as "$@"
}
server --initialize-insecure >"$folder/log" 2>&1
server --socket="$folder/sock" --pid-file="$folder/pid" --port="$port" --bind-address=127.0.0.1 --mysqlx=OFF >>"$folder/log" 2>&1 &
cd "$folder"
npm install --silent --no-audit --no-fund --no-save mysql2@3.22.0 >&2
cat >run.js <<'J'
const mysql = require("mysql2/promise");
const nested = (n) => "[".repeat(n) + "]".repeat(n);
async function connect() {
  for (let tries = 0; ; tries++) {
    try { return await mysql.createConnection({ socketPath: process.argv[2], user: "root" }); } catch (e) {
      if (tries > 200) throw e;
      await new Promise((done) => setTimeout(done, 100));
    }
  }
}
(async () => {
  const db = await connect();
  const said = async (what, sql, values) => {
    let answer;
    try { answer = String((await db.query(sql, values))[0].map((row) => row.valid)); } catch (e) { answer = `${e.code} ${e.errno}`; }
    console.log(`${what}: ${answer}`);
    return answer;
  };
  JSON.parse(nested(101));
  await db.query("create database d");
  await db.query("create table d.jobs (id int primary key, payload longtext)");
  await db.query("insert into d.jobs values (1, '{}'), (2, ?), (3, '[]')", [nested(101)]);
  const one = "select json_valid(?) as valid";
  const seen = [
    await said("100 levels", one, [nested(100)]),
    await said("no JSON", one, ["{"]),
    await said("101 levels", one, [nested(101)]),
    await said("a table with one such row", "select json_valid(payload) as valid from d.jobs"),
  ];
  await db.end();
  const error = "ER_JSON_DOCUMENT_TOO_DEEP 3157";
  process.exit(seen.join() === ["1", "0", error, error].join() ? 0 : 1);
})();
J
node run.js "$folder/sock"
