// Places a model where there is room: first shows which workers would get it, and why the others would not.

import { useState } from "preact/hooks";
import type { PlaceAnswer, PlaceRequest } from "../../contract/fleet/model-task.ts";
import { api } from "../api.ts";
import { plural, splitTags } from "../format.ts";
import { byReason } from "../parts/by-reason.ts";
import { Dialog } from "../parts/dialog.tsx";
import { fieldErrors } from "../parts/field-errors.ts";
import { TextField } from "../parts/form.tsx";
import { Problem } from "../parts/problem.tsx";
import { useDraft } from "../state/drafts.ts";
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
  readonly model: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** What is asked for, the plan for it, and the two calls. A plan holds for the request that it was made for. */
const usePlacing = (given: string, onPlaced: () => void) => {
  const [wish, setWish] = useDraft(`place ${given}`, { model: given, copies: "1", tags: "" });
  const [plan, setPlan] = useState<PlaceAnswer | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const tags = splitTags(wish.tags);
  const request: PlaceRequest = {
    model: wish.model.trim(),
    copies: asNumber(wish.copies),
    ...(tags.length === 0 ? {} : { tags }),
  };
  const ask = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setError(null);
    await work().catch((refused) => setError(refused as Error));
    setBusy(false);
  };
  const change = (changes: Partial<typeof wish>): void => {
    setWish((was) => ({ ...was, ...changes }));
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
      onPlaced();
    });
  return {
    wish,
    change,
    plan,
    error,
    copies: request.copies ?? 1,
    isReady: !isBusy && request.model !== "",
    tryIt,
    place,
  };
};

export const PlaceDialog = ({ model: given, onDone, onClose }: PlaceDialogProps) => {
  const { wish, change, plan, error, copies, isReady, tryIt, place } = usePlacing(given, () => {
    onDone();
    onClose();
  });
  const errorOf = fieldErrors(error);
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
          value={wish.model}
          suggestions={offered.value.models}
          error={errorOf("model")}
          onInput={(model) => change({ model })}
        />
        <div class="field-row">
          <TextField
            label="Copies"
            type="number"
            hint="On how many workers it is to be; those that have it count."
            value={wish.copies}
            error={errorOf("copies")}
            onInput={(count) => change({ copies: count })}
          />
          <TextField
            label="Tags"
            hint="Only workers with all of them."
            value={wish.tags}
            onInput={(tags) => change({ tags })}
          />
        </div>
        {plan !== null && <Plan workers={plan.workers} copies={copies} />}
        <Problem error={error} />
        <div class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>
            Not now
          </button>
          <button
            type={plan === null ? "submit" : "button"}
            class="button"
            disabled={!isReady}
            onClick={plan === null ? undefined : tryIt}
          >
            Dry run
          </button>
          <button type="button" class="button primary" disabled={!isReady} onClick={place}>
            Place
          </button>
        </div>
      </form>
    </Dialog>
  );
};
