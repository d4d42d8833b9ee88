// The actions on a job in its status: edit, retry, cancel, create a copy.

import { useState } from "preact/hooks";
import type { JobResource } from "../../../contract/jobs/job.ts";
import { PRIORITIES, type Priority, TIERS } from "../../../contract/words/values.ts";
import { api } from "../../api.ts";
import { splitTags } from "../../format.ts";
import { Confirm } from "../../parts/dialog.tsx";
import { ForOperators } from "../../parts/for-operators.tsx";
import { Choice, SelectField, TextField } from "../../parts/form.tsx";
import { tierOf } from "../../parts/job-fields.ts";
import { sendChanges } from "../../parts/send-changes.ts";
import { href } from "../../router.ts";
import { mayChangeJob } from "../../state/bulk-change.ts";
import { useDraft } from "../../state/drafts.ts";
import { useLostWorkers } from "../../state/lost-workers.ts";
import { attempt, tell } from "../../state/notice.ts";

interface ActionsProps {
  job: JobResource;
  onDone: () => void;
}

const EditDialog = ({ job, onDone, onClose }: ActionsProps & { onClose: () => void }) => {
  // The page reads the job again while the dialog is open.
  const [before] = useState({ priority: job.priority, tier: job.tier });
  const [priority, setPriority] = useState<Priority>(job.priority);
  const [tier, setTier] = useState<string>(job.tier ?? "");
  const [tags, setTags, tagsBefore] = useDraft(`job ${job.id}: tags`, job.tags.join(", "));
  const save = async (): Promise<void> => {
    const after = { priority, tier: tierOf(tier), tags: splitTags(tags) };
    await sendChanges({ ...before, tags: splitTags(tagsBefore) }, after, (changes) => api.jobs.edit(job.id, changes));
    tell("Job changed.");
    onDone();
  };
  return (
    <Confirm title="Edit the job" action="Save" onConfirm={save} onClose={onClose}>
      <Choice<Priority>
        label="Priority"
        value={priority}
        options={PRIORITIES.map((one) => [one, one] as const)}
        onInput={setPriority}
      />
      <SelectField
        label="Tier"
        value={tier}
        onInput={setTier}
        options={[["", "any"], ...TIERS.map((one) => [one, one] as const)]}
      />
      <TextField
        label="Tags"
        hint="Separated by commas; the worker must offer all of them."
        value={tags}
        onInput={setTags}
      />
    </Confirm>
  );
};

const CancelDialog = ({ job, onDone, onClose }: ActionsProps & { onClose: () => void }) => (
  <Confirm
    title="Cancel the job?"
    action="Cancel the job"
    isDestructive
    onConfirm={async () => {
      await api.jobs.cancel(job.id);
      tell("Job cancelled.");
      onDone();
    }}
    onClose={onClose}
  >
    <p>
      {job.assigned_worker === null
        ? "It leaves the queue and will not run."
        : `Worker ${job.assigned_worker} is told to stop; its work so far is lost.`}
    </p>
  </Confirm>
);

export const JobActions = ({ job, onDone }: ActionsProps) => {
  const lost = useLostWorkers([job]);
  const [open, setOpen] = useState<"edit" | "cancel" | null>(null);
  const close = () => setOpen(null);
  const retry = async (): Promise<void> => {
    await attempt(`retry ${job.id}`, () => api.jobs.retry(job.id), "Back in the queue.");
    onDone();
  };
  return (
    <ForOperators>
      <a class="button" href={href(["jobs", "new"], { like: job.id })}>
        Create a copy
      </a>
      {job.status !== "completed" && !job.archived && (
        <button type="button" class="button" onClick={() => setOpen("edit")}>
          Edit
        </button>
      )}
      {mayChangeJob("retry", job, lost) && !job.archived && (
        <button
          type="button"
          class={`button${job.status === "failed" ? " primary" : ""}`}
          title={job.status === "failed" ? undefined : "Takes it back from a worker that is offline"}
          onClick={retry}
        >
          Retry
        </button>
      )}
      {mayChangeJob("cancel", job, lost) && (
        <button type="button" class="button danger" onClick={() => setOpen("cancel")}>
          Cancel
        </button>
      )}
      {open === "edit" && <EditDialog job={job} onDone={onDone} onClose={close} />}
      {open === "cancel" && <CancelDialog job={job} onDone={onDone} onClose={close} />}
    </ForOperators>
  );
};
