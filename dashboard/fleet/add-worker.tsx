// Adding a worker: a key of its own, the command to run on its machine, and the worker once it has connected.

import { useState } from "preact/hooks";
import type { KeyAnswer } from "../../contract/access/key.ts";
import type { WorkerResource } from "../../contract/fleet/worker.ts";
import { SOUGHT_RUNTIMES } from "../../contract/words/values.ts";
import { api } from "../api.ts";
import { useAttempt } from "../parts/attempt.ts";
import { SelectField, TextField } from "../parts/form.tsx";
import { Lamp } from "../parts/lamp.tsx";
import { Page, Panel } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import { WorkerStatus } from "../parts/status.tsx";
import { TextBlock } from "../parts/text-block.tsx";
import { href } from "../router.ts";
import { workers } from "../state/board.ts";
import { serverNow } from "../state/clock.ts";
import { useDraft } from "../state/drafts.ts";
import { commandFor, WAY_OPTIONS, WAYS, type WayName, type Wish } from "./worker-ways.ts";

const BACK = { label: "Fleet", href: "#/fleet" };
const LOOPBACK = /^(localhost|127\.|\[::1\])/;

const RUNTIMES: readonly (readonly [string, string])[] = [
  ...SOUGHT_RUNTIMES.map((name) => [name, name] as const),
  ["openai", "openai (its key in PROVIDER_OPENAI_KEY)"],
  ["anthropic", "anthropic (its key in PROVIDER_ANTHROPIC_KEY)"],
  ["echo", "echo (answers with the question, for a first try)"],
];

const Arrival = ({ name, needs, since }: { name: string; needs: string; since: number }) => {
  // By its name, or the first that was registered since, because the command may have been changed.
  const all = [...workers.value.values()];
  const came: WorkerResource | undefined =
    all.find(({ instance, status }) => instance === name && status !== "offline") ??
    all.find(({ registered_at }) => Date.parse(registered_at) >= since);
  return (
    <Panel title="The worker">
      <p class={`verdict verdict-${came === undefined ? "caution" : "clear"}`} role="status">
        <Lamp aspect={came === undefined ? "caution" : "clear"} />
        {came === undefined ? (
          <span>Waiting for {name} …</span>
        ) : (
          <span>
            <a href={href(["fleet", came.instance])}>{came.instance}</a> has come: {came.provider},{" "}
            {came.models === null ? "any model" : came.models.join(", ")}. <WorkerStatus worker={came} />
          </span>
        )}
      </p>
      {came !== undefined && came.unavailable !== null && <p class="tone-caution">{came.unavailable}</p>}
      {came === undefined && (
        <p class="dim">
          It needs {needs} and network access to {location.origin}. Its terminal says what is missing.
        </p>
      )}
    </Panel>
  );
};

interface MadeKey extends KeyAnswer {
  readonly askedAt: number;
}

const Made = ({ wish, made }: { wish: Wish; made: MadeKey }) => (
  <>
    <Panel title="Run this on its machine">
      <TextBlock name="Command" value={commandFor(wish, location.origin, made.key)} />
      <p class="dim">
        The key “{made.name}” is shown this once. It runs jobs and nothing else;{" "}
        <a href="#/settings/keys">revoke it under Keys</a>.
      </p>
      {LOOPBACK.test(location.host) && (
        <p class="tone-caution">
          {location.origin} is this machine only. For another machine, serve with SERVICE_HOST=0.0.0.0 and open this
          page by an address that the machine can reach.
        </p>
      )}
    </Panel>
    <Arrival name={wish.name} needs={WAYS[wish.way].needs} since={made.askedAt} />
  </>
);

const isNameGood = (name: string): boolean => /^[A-Za-z0-9._:-]{1,90}$/.test(name);
const areTagsGood = (tags: string): boolean => /^[A-Za-z0-9._:/,-]*$/.test(tags);

const WishFields = ({ wish, change }: { wish: Wish; change: (changes: Partial<Wish>) => void }) => (
  <>
    <TextField
      label="Name"
      value={wish.name}
      onInput={(name) => change({ name })}
      error={wish.name === "" || isNameGood(wish.name) ? null : "Letters, digits, . _ : and -"}
      hint="Its name, such as gpu-box-1."
      isRequired
      autoFocus
    />
    <div class="field-row">
      <SelectField
        label="What does the work"
        value={wish.way}
        options={WAY_OPTIONS}
        onInput={(way) => change({ way: way as WayName })}
      />
      {wish.way === "runtime" && (
        <SelectField
          label="Runtime"
          value={wish.runtime}
          options={RUNTIMES}
          onInput={(runtime) => change({ runtime })}
        />
      )}
      <TextField
        label="Tags"
        value={wish.tags}
        onInput={(tags) => change({ tags })}
        error={areTagsGood(wish.tags) ? null : "Separate tags by commas, without spaces"}
        placeholder="gpu,eu"
      />
    </div>
  </>
);

export const AddWorker = () => {
  const [wish, setWish] = useDraft<Wish>(location.hash, { way: "runtime", name: "", runtime: "ollama", tags: "" });
  const [made, setMade] = useState<MadeKey | null>(null);
  const { error, isBusy, attempt } = useAttempt();
  const make = (event: Event): Promise<void> => {
    event.preventDefault();
    return attempt(async () => {
      const askedAt = serverNow();
      setMade({ ...(await api.keys.create({ name: `worker ${wish.name}`, role: "worker" })), askedAt });
    });
  };
  const isReady = !isBusy && isNameGood(wish.name) && areTagsGood(wish.tags);
  return (
    <Page
      title="Add a worker"
      back={BACK}
      lead="A model runtime, any command, or a function of yours; no open port is needed."
    >
      <div class="stack-panels">
        {made === null ? (
          <Panel title="About the worker">
            <form onSubmit={make}>
              <WishFields wish={wish} change={(changes) => setWish((was) => ({ ...was, ...changes }))} />
              <Problem error={error} />
              <button type="submit" class="button primary" disabled={!isReady}>
                Make its key
              </button>
            </form>
          </Panel>
        ) : (
          <Made wish={wish} made={made} />
        )}
      </div>
    </Page>
  );
};
