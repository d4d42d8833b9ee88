// The status of a batch as a lamp and words.

import type { BatchResource } from "../../contract/batch.ts";
import type { Aspect } from "../parts/lamp.tsx";
import { Status } from "../parts/status.tsx";

type BatchStatusName = BatchResource["status"];

const STATUSES: Record<BatchStatusName, { aspect: Aspect; says: string }> = {
  validating: { aspect: "caution", says: "reading the file" },
  in_progress: { aspect: "clear", says: "in progress" },
  finalizing: { aspect: "caution", says: "writing its files" },
  completed: { aspect: "done", says: "completed" },
  failed: { aspect: "stop", says: "failed" },
  expired: { aspect: "stop", says: "expired" },
  cancelling: { aspect: "caution", says: "cancelling" },
  cancelled: { aspect: "dark", says: "cancelled" },
};

export const BatchStatus = ({ status }: { status: BatchStatusName }) => {
  const { aspect, says } = STATUSES[status];
  const tone = aspect === "dark" ? "dim" : aspect;
  return <Status aspect={aspect} word={says} isLit={status === "in_progress"} tone={tone} />;
};

export const isUnderWay = ({ ended_at }: BatchResource): boolean => ended_at === null;

/** A batch that has ended, or is being ended, cannot be cancelled. */
export const mayCancel = ({ status }: BatchResource): boolean => status === "validating" || status === "in_progress";
