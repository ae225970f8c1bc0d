#!/bin/sh
# A GRANT takes a right away on MySQL: one on a pattern of databases hides the grant on the database itself.
#
# package    Debian mysql-server-core 9.7.4-2 (MySQL 9.7.4), npm mysql2 3.22.0
# source     https://packages.debian.org/sid/mysql-server-core, https://dev.mysql.com/doc/refman/9.7/en/grant.html
# guess      Rights add up: who may SELECT on shop_a.* and is granted DELETE on `shop\_a%`.* may do both in shop_a.
# behaviour  The server reads one grant on databases, and a name with an underscore is a pattern too: here the other one is read. The
#            user may DELETE and no longer SELECT, until that grant is revoked. SHOW GRANTS lists both.
# output     granted on shop_a: select 0 rows, delete ER_TABLEACCESS_DENIED_ERROR 1142
#            and on shop\_a%: select ER_TABLEACCESS_DENIED_ERROR 1142, delete 0 rows
#            revoked on shop\_a%: select 0 rows, delete ER_TABLEACCESS_DENIED_ERROR 1142
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
async function connect(user) {
  for (let tries = 0; ; tries++) {
    try { return await mysql.createConnection({ socketPath: process.argv[2], user }); } catch (e) {
      if (tries > 200) throw e;
      await new Promise((done) => setTimeout(done, 100));
    }
  }
}
(async () => {
  const root = await connect("root");
  const seen = [];
  const tried = async (sql) => {
    const clerk = await connect("clerk");
    try {
      const [done] = await clerk.query(sql);
      return `${Array.isArray(done) ? done.length : done.affectedRows} rows`;
    } catch (e) { return `${e.code} ${e.errno}`; } finally { await clerk.end(); }
  };
  const told = async (when, sql) => {
    await root.query(sql);
    const [read, gone] = [await tried("select * from shop_a.jobs"), await tried("delete from shop_a.jobs")];
    console.log(`${when}: select ${read}, delete ${gone}`);
    seen.push(read, gone);
  };
  await root.query("create database shop_a");
  await root.query("create table shop_a.jobs (id int primary key)");
  await root.query("create user clerk@'%'");
  await told("granted on shop_a", "grant select on shop_a.* to clerk@'%'");
  await told("and on shop\\_a%", "grant delete on `shop\\_a%`.* to clerk@'%'");
  await told("revoked on shop\\_a%", "revoke delete on `shop\\_a%`.* from clerk@'%'");
  await root.end();
  const no = "ER_TABLEACCESS_DENIED_ERROR 1142";
  process.exit(seen.join() === ["0 rows", no, no, "0 rows", "0 rows", no].join() ? 0 : 1);
})();
J
node run.js "$folder/sock"
