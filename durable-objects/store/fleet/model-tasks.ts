// Tasks for the models of workers. Ids are in order of creation.

import { isTaskLive, isTaskOver, type ModelTask } from "../../../domain/fleet/model-task.ts";
import { put, record, records, type Sql, scalar } from "../sql.ts";

interface ModelTaskFilter {
  readonly worker?: string | undefined;
  readonly status?: string | undefined;
}

const WANTED = "FROM model_tasks WHERE (?1 IS NULL OR worker = ?1) AND (?2 IS NULL OR status = ?2)";

export const modelTasksTable = (sql: Sql) => ({
  find: (id: string): ModelTask | null => record(sql, "SELECT record FROM model_tasks WHERE id = ?", id),

  put: (task: ModelTask): void => {
    put(sql, "model_tasks", {
      id: task.id,
      worker: task.worker,
      status: task.status,
      is_live: isTaskLive(task) ? 1 : 0,
      record: JSON.stringify(task),
    });
  },

  live: (): ModelTask[] => records(sql, "SELECT record FROM model_tasks WHERE is_live = 1 ORDER BY id"),

  /** Newest first. */
  page: ({ worker, status }: ModelTaskFilter, limit: number, offset: number): ModelTask[] =>
    records(
      sql,
      `SELECT record ${WANTED} ORDER BY id DESC LIMIT ?3 OFFSET ?4`,
      worker ?? null,
      status ?? null,
      limit,
      offset,
    ),

  count: ({ worker, status }: ModelTaskFilter): number =>
    scalar(sql, `SELECT COUNT(*) ${WANTED}`, worker ?? null, status ?? null) ?? 0,

  /** Removes those of a worker that are over, but the newest; returns the removed. */
  removeOld: (worker: string, kept: number): ModelTask[] => {
    const old = records<ModelTask>(
      sql,
      "SELECT record FROM model_tasks WHERE worker = ? ORDER BY id DESC LIMIT -1 OFFSET ?",
      worker,
      kept,
    ).filter(isTaskOver);
    for (const { id } of old) sql.exec("DELETE FROM model_tasks WHERE id = ?", id);
    return old;
  },

  removeOf: (worker: string): void => {
    sql.exec("DELETE FROM model_tasks WHERE worker = ?", worker);
  },
});
