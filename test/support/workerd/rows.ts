// Many rows at once, written into a table of the object: thousands of requests take long.

import { evictDurableObject } from "cloudflare:test";
import { alarm, inStorage, type World } from "./client.ts";

/**
 * Copies the row with the greatest key so many times. `changes` are expressions of SQL for columns that differ; `i`
 * numbers the copies from 1. The object wakes with them.
 */
export const copyRow = async (
  world: World,
  table: string,
  count: number,
  changes: Readonly<Record<string, string>>,
): Promise<void> => {
  await inStorage(world, ({ sql }) => {
    const last = `SELECT * FROM ${table} ORDER BY 1 DESC LIMIT 1`;
    const names = sql.exec(last).columnNames;
    const values = names.map((name) => changes[name] ?? name);
    const numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)";
    sql.exec(`INSERT INTO ${table} (${names}) ${numbers} SELECT ${values} FROM n, (${last})`, count);
  });
  await evictDurableObject(world.stub);
};

/** Copies the newest job, which waits, with another text in place of one that its record has (a tag, a flow). */
export const copyWaitingJob = async (world: World, count: number, text: string, others: string): Promise<void> => {
  // It goes to the tables when history has it.
  await alarm(world);
  await world.stub.drain();
  await alarm(world);
  const id = (column: string): string => `substr(${column}, 1, 24) || printf('%012x', i)`;
  const other = (column: string): string => `replace(${column}, '${text}', ${others})`;
  const record = `json_set(${other("record")}, '$.id', ${id("id")})`;
  const jobs = { id: id("id"), group_key: other("group_key"), lane: other("lane"), record };
  await copyRow(world, "payloads", count, { job_id: id("job_id") });
  await copyRow(world, "jobs", count, jobs);
};
