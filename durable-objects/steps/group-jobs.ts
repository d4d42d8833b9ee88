// The jobs by which a waiting group is judged: its first and its oldest.

import type { Job } from "../../domain/job/job.ts";
import type { Group, Place } from "../../domain/job/queue.ts";
import type { Turn } from "../turn/turn.ts";

/** The first job of a group. */
export const headOf = (turn: Turn, group: Group): Place | null => {
  if (group.count <= 0) return null;
  group.head ??= turn.store.jobs.headOf(group.key, group.count);
  return group.head;
};

export const headJobOf = (turn: Turn, group: Group): Job | null => {
  const head = headOf(turn, group);
  return head === null ? null : turn.store.jobs.find(head.id);
};

/** The id of the job that was created first; where priorities differ, the head is another. */
export const oldestIn = (turn: Turn, group: Group): string | null => {
  group.oldest ??= turn.store.jobs.oldestOf(group.key, group.count);
  return group.oldest;
};

export const oldestJobOf = (turn: Turn, group: Group): Job | null => {
  const id = oldestIn(turn, group);
  return id === null ? null : turn.store.jobs.find(id);
};
