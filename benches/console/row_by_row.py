"""Moves dead jobs one by one, as a script that somebody writes for it does: read the row, put its job back, mark it, commit.

Takes one JSON object on its input: the database's URL, the statement that reads a row, those that move it, and the keys;
`:key` in a statement is the key. Prints the seconds that it took, on a connection that was open.
"""

import json
import sys
import time
from urllib.parse import unquote, urlsplit


def connect(url):
    """A connection that commits when it is told to, and how a statement names its value."""
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        import sqlite3

        return sqlite3.connect(url.removeprefix("sqlite://"), timeout=30), "?"
    if parts.scheme == "mysql":
        import pymysql

        name, password = unquote(parts.username or "root"), unquote(parts.password or "")
        place = {"host": parts.hostname, "port": parts.port or 3306, "database": parts.path.lstrip("/")}
        return pymysql.connect(user=name, password=password, **place), "%s"
    import psycopg

    return psycopg.connect(url), "%s"


def main():
    asked = json.load(sys.stdin)
    connection, value = connect(asked["url"])
    cursor = connection.cursor()
    read, *moves = (statement.replace(":key", value) for statement in [asked["read"], *asked["moves"]])
    began = time.monotonic()
    for key in asked["keys"]:
        cursor.execute(read, (key,))
        if cursor.fetchone() is None:
            raise SystemExit(f"{key} is not there")
        for move in moves:
            cursor.execute(move, (key,))
        connection.commit()
    print(time.monotonic() - began)


main()
