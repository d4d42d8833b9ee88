// The first steps with a new tenant, for its admin: each ticks itself when it is done, and the list goes when all are.

import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../api.ts";
import { Lamp } from "../parts/lamp.tsx";
import { Panel } from "../parts/page.tsx";
import { counts, fleet, hasSnapshot, jobs } from "../state/board.ts";
import { useLoad, useRounds } from "../state/load.ts";
import { isAdmin, session } from "../state/session.ts";
import { doneCount, keepTicks, keptTicks, STEPS, type Step, type Ticks, ticksOf } from "./first-steps.ts";

const LOOK_EVERY_MS = 10_000;
/** The board has more; an older one was seen at an earlier visit. */
const NEWEST_JOBS = 20;
/** Answers with the prompt: no runtime yet. */
const ECHO = "echo";
/** Roles of keys that people sign in with. */
const PEOPLE_ROLES: readonly string[] = ["admin", "standard", "viewer"];

const SAYS: Record<Step, { title: string; how: string; href: string }> = {
  runtime: {
    title: "Connect a runtime",
    how: "Start a worker beside Ollama, vLLM, LM Studio or llama.cpp, or with a provider's key.",
    href: "#/fleet/~add",
  },
  job: { title: "Run a job", how: "Put a prompt in the queue, and see who answers.", href: "#/jobs/new" },
  client: {
    title: "Point a client at it",
    how: "OpenAI's and Anthropic's clients work as they are: the playground has the lines to copy.",
    href: "#/playground",
  },
  budget: {
    title: "Set a budget",
    how: "What a day or a month may cost: day_usd and month_usd under budget in the config.",
    href: "#/settings",
  },
  person: {
    title: "Add a person",
    how: "By your organisation's sign-in, or with a key of their own.",
    href: "#/settings/people",
  },
};

/** What the socket tells without a question. */
const SEEN: Partial<Record<Step, () => boolean>> = {
  runtime: () => fleet.value.some(({ provider, workers }) => provider !== ECHO && workers > 0),
  job: () => (counts.value.completed ?? 0) > 0,
  client: () => [...jobs.value.values()].some(({ api: door }) => door !== null),
};

const isBudgetSet = async (signal: AbortSignal): Promise<boolean> => {
  const { budget } = (await api.config.get({ signal })).document;
  return (budget?.day_usd ?? budget?.month_usd ?? null) !== null;
};

const isPersonAdded = async (signal: AbortSignal): Promise<boolean> => {
  const [{ people }, { keys }] = await Promise.all([api.people.list({ signal }), api.keys.list({ signal })]);
  const personal = keys.filter(({ role, revoked_at }) => revoked_at === null && PEOPLE_ROLES.includes(role));
  return people.length > 0 || personal.length > 1;
};

const isClientSeen = async (signal: AbortSignal): Promise<boolean> => {
  const { jobs: newest } = await api.jobs.list({ limit: NEWEST_JOBS, max_chars: 0 }, { signal });
  return newest.some(({ api: door }) => door !== null);
};

/** What must be asked for. Of a client's jobs that come later the socket tells. */
const ASKED: Partial<Record<Step, (signal: AbortSignal) => Promise<boolean>>> = {
  client: isClientSeen,
  budget: isBudgetSet,
  person: isPersonAdded,
};

/** The steps of these that are done. */
const look = async (steps: readonly Step[], signal: AbortSignal): Promise<Step[]> => {
  const done = await Promise.all(steps.map((step) => ASKED[step]?.(signal)));
  return steps.filter((_, index) => done[index] === true);
};

const Item = ({ step, isDone }: { step: Step; isDone: boolean }) => {
  const { title, how, href } = SAYS[step];
  return (
    <li class={isDone ? "dim" : ""}>
      <Lamp aspect={isDone ? "done" : "dark"} />
      <span>
        {isDone ? title : <a href={href}>{title}</a>}
        {isDone && <span class="visually-hidden">, done</span>}
        {!isDone && <span class="row-note dim">{how}</span>}
      </span>
    </li>
  );
};

interface FirstRunProps {
  /** Whether the page has what it is for: its reads come first. */
  readonly isDue: boolean;
}

interface StepsProps extends FirstRunProps {
  readonly kept: Ticks;
  readonly onTick: (ticks: Ticks) => void;
}

const Steps = ({ isDue, kept, onTick }: StepsProps) => {
  const isSeen = (step: Step): boolean => kept[step] || SEEN[step]?.() === true;
  const round = useRounds(LOOK_EVERY_MS);
  const hasAnswer = useRef(false);
  const { data } = useLoad(isDue ? `first steps ${round}` : null, async (signal) => {
    const steps = STEPS.filter((step) => !isSeen(step) && !(step === "client" && hasAnswer.current));
    const done = await look(steps, signal);
    hasAnswer.current = true;
    return done;
  });
  const ticks = ticksOf((step) => isSeen(step) || data?.includes(step) === true);
  const done = doneCount(ticks);
  useEffect(() => {
    if (done > doneCount(kept)) onTick(ticks);
  }, [done]);
  // Of a tenant without a completed job it is known at once that not all are done.
  const isNew = hasSnapshot.value && !isSeen("job");
  const isAtOnce = isNew || doneCount(kept) > 0;
  const isLate = useRef<boolean | null>(null);
  if (!isAtOnce && (!hasSnapshot.value || data === null)) return null;
  // What is learned after the rest of the page pushes nothing away, and has its place at the next visit.
  isLate.current ??= !isAtOnce;
  return (
    <Panel
      title="First steps"
      class={isLate.current ? "first-run first-run-late" : "first-run"}
      aside={
        <span class="actions">
          <span class="dim num">
            {done} of {STEPS.length} done
          </span>
          <button type="button" class="button small quiet" onClick={() => onTick(ticksOf(() => true))}>
            Dismiss
          </button>
        </span>
      }
    >
      <ol class="first-steps">
        {STEPS.map((step) => (
          <Item key={step} step={step} isDone={ticks[step]} />
        ))}
      </ol>
    </Panel>
  );
};

export const FirstRun = ({ isDue }: FirstRunProps) => {
  const tenant = session.value?.tenant ?? "";
  const [kept, setKept] = useState(() => keptTicks(tenant));
  const tick = (ticks: Ticks): void => {
    keepTicks(tenant, ticks);
    setKept(ticks);
  };
  return isAdmin.value && doneCount(kept) < STEPS.length ? <Steps isDue={isDue} kept={kept} onTick={tick} /> : null;
};
