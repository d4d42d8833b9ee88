// Registered workers, the names of their models, and the back-offs of their providers.

import type { MachineReport } from "../../../domain/fleet/machine.ts";
import type { OfferedModels, Worker } from "../../../domain/fleet/worker.ts";
import { readWorker, writeWorker } from "../../../domain/fleet/worker-record.ts";
import { all, cells, first, put, type Row, type Sql, scalar } from "../sql.ts";

const machineIn = (text: unknown): MachineReport | null =>
  text == null ? null : (JSON.parse(text as string) as MachineReport);

/** Their model lists may be 64 KiB each, so they are not read at once. */
const WORKERS_A_READ = 200;

const list = (text: unknown): string[] | null => (text == null ? null : (JSON.parse(text as string) as string[]));
const modelsIn = (row: Row | null): OfferedModels => ({
  models: list(row?.models),
  runtimeModels: list(row?.runtime_models),
});

const machineTextOf = (sql: Sql, instance: string): string | null =>
  cells(sql, "SELECT machine FROM worker_machines WHERE instance = ?", instance)[0] ?? null;

export const workersTable = (sql: Sql) => ({
  *each(): Generator<Worker> {
    let last = "";
    for (let isMore = true; isMore; ) {
      const rows = all(
        sql,
        `SELECT instance, record, models, runtime_models, machine FROM workers
         LEFT JOIN worker_models USING (instance) LEFT JOIN worker_machines USING (instance)
         WHERE instance > ? ORDER BY instance LIMIT ${WORKERS_A_READ}`,
        last,
      );
      for (const row of rows)
        yield readWorker(row.record as string, { ...modelsIn(row), machine: machineIn(row.machine) });
      last = (rows.at(-1)?.instance as string | undefined) ?? "";
      isMore = rows.length === WORKERS_A_READ;
    }
  },

  /** Those whose relays may have something open. To ask the others would make an object for each. */
  relayed: (): string[] => cells(sql, "SELECT instance FROM workers WHERE is_relayed"),

  modelsOf: (instance: string): OfferedModels =>
    modelsIn(first(sql, "SELECT models, runtime_models FROM worker_models WHERE instance = ?", instance)),

  /** A `MachineReport` as JSON; null: it says nothing of its machine. */
  machineText: (instance: string): string | null => machineTextOf(sql, instance),

  /** null: it says nothing of its machine. */
  machineOf: (instance: string): MachineReport | null => machineIn(machineTextOf(sql, instance)),

  putMachine: (instance: string, machine: MachineReport): void => {
    put(sql, "worker_machines", { instance, machine: JSON.stringify(machine) });
  },

  /** Those that name a model with these words in its name. */
  naming: (words: string): Set<string> => {
    const quoted = JSON.stringify(words.toLowerCase()).slice(1, -1);
    return new Set(cells(sql, "SELECT instance FROM worker_models WHERE instr(lower(models), ?) > 0", quoted));
  },

  putModels: (instance: string, { models, runtimeModels }: OfferedModels): void => {
    put(sql, "worker_models", {
      instance,
      models: models === null ? null : JSON.stringify(models),
      runtime_models: runtimeModels === null ? null : JSON.stringify(runtimeModels),
    });
  },

  put: (worker: Worker): void => {
    put(sql, "workers", {
      instance: worker.instance,
      is_relayed: Number(worker.isEdge || worker.hasHadLine),
      record: writeWorker(worker),
    });
  },

  remove: (instance: string): void => {
    sql.exec("DELETE FROM workers WHERE instance = ?", instance);
    sql.exec("DELETE FROM worker_models WHERE instance = ?", instance);
    sql.exec("DELETE FROM worker_machines WHERE instance = ?", instance);
  },
});

export const backoffsTable = (sql: Sql) => ({
  all: (): { provider: string; untilAt: number }[] => all(sql, "SELECT provider, until_at AS untilAt FROM backoffs"),

  put: (provider: string, untilAt: number): void => {
    put(sql, "backoffs", { provider, until_at: untilAt });
  },

  removeEnded: (nowAt: number): void => {
    sql.exec("DELETE FROM backoffs WHERE until_at <= ?", nowAt);
  },

  nextEndAt: (): number | null => scalar(sql, "SELECT MIN(until_at) FROM backoffs"),
});
