// Retries or cancels the picked jobs.

import type { BulkAction } from "../../../contract/jobs/job-list.ts";
import { plural } from "../../format.ts";
import { Confirm } from "../../parts/dialog.tsx";
import { changePicked, tellOf, WORDS } from "../../state/bulk-change.ts";

interface PickedProps {
  action: BulkAction;
  ids: readonly string[];
  onDone: () => void;
  onClose: () => void;
}

export const PickedDialog = ({ action, ids, onDone, onClose }: PickedProps) => {
  const { verb, isDestructive } = WORDS[action];
  const many = plural(ids.length, "job");
  return (
    <Confirm
      title={`${verb} ${many}?`}
      action={`${verb} ${many}`}
      isDestructive={isDestructive}
      onConfirm={async () => {
        tellOf(action, await changePicked(action, ids));
        onDone();
      }}
      onClose={onClose}
    >
      <p>
        {action === "retry"
          ? "Failed jobs go back into the queue; others stay as they are."
          : "They leave the queue, and workers are told to stop theirs. Finished jobs stay as they are."}
      </p>
    </Confirm>
  );
};
