// Places a model where there is room: first shows which workers would get it, and why the others would not.

import { useState } from "preact/hooks";
import { ApiProblem } from "../../contract/client/problem.ts";
import type { PlaceAnswer, PlaceRequest } from "../../contract/fleet/model-task.ts";
import { api } from "../api.ts";
import { plural, splitTags } from "../format.ts";
import { byReason } from "../parts/by-reason.ts";
import { Dialog } from "../parts/dialog.tsx";
import { TextField } from "../parts/form.tsx";
import { Problem } from "../parts/problem.tsx";
import { tell } from "../state/notice.ts";
import { offered } from "../state/offered.ts";

/** As many as one compares at a glance. */
const MAX_CANDIDATES = 10;

const Plan = ({ workers, copies }: Pick<PlaceAnswer, "workers"> & { copies: number }) => {
  const able = workers.filter(({ score }) => score !== null);
  const refused = workers.filter(({ score }) => score === null);
  return (
    <div class="explanation" role="status">
      {able.length === 0 && <p class="verdict verdict-stop">No worker has room for it.</p>}
      {able.length > 0 && (
        <ol class="ranked">
          {able.slice(0, MAX_CANDIDATES).map(({ instance, score, reasons }, at) => (
            <li key={instance}>
              <span>
                <strong>{instance}</strong> {at < copies && <span class="tag">gets it</span>}
                <span class="row-note dim">{reasons.join("; ")}</span>
              </span>
              <span class="num">{score}</span>
            </li>
          ))}
        </ol>
      )}
      {byReason(refused).map(([reason, group]) => (
        <p key={reason} class="dim">
          {group.length === 1 ? group[0]?.instance : plural(group.length, "worker")}: {reason}
        </p>
      ))}
    </div>
  );
};

const asNumber = (text: string): number => (text.trim() === "" ? 1 : Number(text));

interface PlaceDialogProps {
  readonly model?: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export const PlaceDialog = ({ model: given = "", onDone, onClose }: PlaceDialogProps) => {
  const [model, setModel] = useState(given);
  const [copies, setCopies] = useState("1");
  const [tags, setTags] = useState("");
  const [plan, setPlan] = useState<PlaceAnswer | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const request: PlaceRequest = {
    model: model.trim(),
    copies: asNumber(copies),
    ...(splitTags(tags).length === 0 ? {} : { tags: splitTags(tags) }),
  };
  const ask = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setError(null);
    await work().catch((refused) => setError(refused as Error));
    setBusy(false);
  };
  const change = (set: (value: string) => void) => (value: string) => {
    set(value);
    setPlan(null);
  };
  const tryIt = () => ask(async () => setPlan(await api.models.place({ ...request, dry_run: true })));
  const place = () =>
    ask(async () => {
      const { tasks } = await api.models.place(request);
      tell(
        tasks.length === 0
          ? "Nothing to do: no worker gets a task."
          : `${plural(tasks.length, "worker")} got the task.`,
      );
      onDone();
      onClose();
    });
  const fieldError = (name: string): string | undefined =>
    error instanceof ApiProblem ? error.errors?.find(({ path }) => path === name)?.message : undefined;
  return (
    <Dialog title="Place a model" onClose={onClose} tone="wide">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void (plan === null ? tryIt() : place());
        }}
      >
        <TextField
          label="Model"
          isRequired
          isCode
          value={model}
          suggestions={offered.value.models}
          error={fieldError("model")}
          onInput={change(setModel)}
        />
        <div class="field-row">
          <TextField
            label="Copies"
            type="number"
            hint="On how many workers it is to be; those that have it count."
            value={copies}
            error={fieldError("copies")}
            onInput={change(setCopies)}
          />
          <TextField label="Tags" hint="Only workers with all of them." value={tags} onInput={change(setTags)} />
        </div>
        {plan !== null && <Plan workers={plan.workers} copies={request.copies ?? 1} />}
        <Problem error={error} />
        <div class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>
            Not now
          </button>
          <button
            type={plan === null ? "submit" : "button"}
            class="button"
            disabled={isBusy || model.trim() === ""}
            onClick={plan === null ? undefined : tryIt}
          >
            Dry run
          </button>
          <button type="button" class="button primary" disabled={isBusy || model.trim() === ""} onClick={place}>
            Place
          </button>
        </div>
      </form>
    </Dialog>
  );
};
