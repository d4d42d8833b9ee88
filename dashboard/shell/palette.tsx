// The command palette: open a page, find an id, pause or resume a worker, engage or clear the killswitch. Also lists the keyboard
// shortcuts.

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { WorkerResource } from "../../contract/fleet/worker.ts";
import { api } from "../api.ts";
import { shortened } from "../format.ts";
import { Dialog } from "../parts/dialog.tsx";
import { PauseDialog } from "../parts/worker-actions.tsx";
import { go, href } from "../router.ts";
import { isHalted, jobs, workers } from "../state/board.ts";
import { useLoad, useSettled } from "../state/load.ts";
import { attempt } from "../state/notice.ts";
import { isAdmin, mayOperate } from "../state/session.ts";
import { ClearDialog, EngageDialog } from "./killswitch-dialog.tsx";
import { destinations } from "./nav.tsx";

type Open = "palette" | "help" | "engage" | "clear" | { readonly pause: WorkerResource } | null;

const open = signal<Open>(null);
const close = (): void => {
  open.value = null;
};
const MAX_SHOWN = 12;
const MAX_EACH = 5;
const MAX_LABEL_CHARS = 70;
const WHOLE_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const TYPING_MS = 200;

interface Command {
  readonly label: string;
  readonly hint: string;
  readonly run: () => void;
}

const goTo = (address: string) => (): void => {
  open.value = null;
  go(address);
};

const show = (next: Open) => (): void => {
  open.value = next;
};

const fixedCommands = (): Command[] => [
  ...destinations().map(({ path, label }) => ({ label, hint: "page", run: goTo(`#/${path}`) })),
  ...(mayOperate.value ? [{ label: "New job", hint: "page", run: goTo("#/jobs/new") }] : []),
  ...(isAdmin.value ? [{ label: "Add a worker", hint: "page", run: goTo("#/fleet/~add") }] : []),
  { label: "Keyboard shortcuts", hint: "help", run: show("help") },
  ...(mayOperate.value ? [{ label: "Killswitch", hint: "action", run: show("engage") }] : []),
  ...(mayOperate.value && isHalted.value
    ? [{ label: "Clear the killswitch", hint: "action", run: show("clear") }]
    : []),
];

const resume = (instance: string) => (): void => {
  open.value = null;
  void attempt(() => api.workers.resume(instance), `${instance} takes jobs again.`);
};

/** What can be done with a worker: "pause gpu" finds the workers that "gpu" finds. */
const VERB = /^(pause|resume)\s+/;

const actionsOn = (worker: WorkerResource): Command[] => {
  if (!mayOperate.value || (worker.paused && isHalted.value)) return [];
  const { instance, paused } = worker;
  return [
    paused
      ? { label: `Resume ${instance}`, hint: "action", run: resume(instance) }
      : { label: `Pause ${instance}`, hint: "action", run: show({ pause: worker }) },
  ];
};

const workerCommands = (found: readonly WorkerResource[]): Command[] =>
  found.flatMap((worker) => [
    { label: worker.instance, hint: "worker", run: goTo(href(["fleet", worker.instance])) },
    ...actionsOn(worker),
  ]);

const jobCommands = (words: string, found: readonly FoundJob[]): Command[] => [
  ...found.map(({ id, start }) => ({
    label: shortened(start.trim(), MAX_LABEL_CHARS) || id,
    hint: id.startsWith(words) ? `job ${id}` : "job",
    run: goTo(href(["jobs", id])),
  })),
  WHOLE_ID.test(words)
    ? { label: `Job ${words}`, hint: "id", run: goTo(href(["jobs", words])) }
    : { label: `Jobs with “${words}”`, hint: "search", run: goTo(href(["jobs"], { q: words })) },
];

interface FoundJob {
  readonly id: string;
  readonly start: string;
}

interface Found {
  readonly workers: readonly WorkerResource[];
  readonly jobs: readonly FoundJob[];
}

const NOTHING: Found = { workers: [], jobs: [] };

/** What the page holds answers at once, and the coordinator finds the rest. */
const findHere = (words: string): Found => ({
  workers: [...workers.value.values()].filter(({ instance }) =>
    instance.toLowerCase().includes(words.replace(VERB, "")),
  ),
  jobs: [...jobs.value.values()]
    .filter(({ id, prompt_start }) => id.startsWith(words) || prompt_start.toLowerCase().includes(words))
    .map(({ id, prompt_start }) => ({ id, start: prompt_start })),
});

const findThere = async (q: string, abort: AbortSignal): Promise<Found> => {
  const [fleet, list] = await Promise.all([
    api.workers.list({ q: q.replace(VERB, ""), limit: MAX_EACH }, { signal: abort }),
    api.jobs.list({ q, limit: MAX_EACH, max_chars: 4 * MAX_LABEL_CHARS }, { signal: abort }),
  ]);
  return { workers: fleet.workers, jobs: list.jobs.map(({ id, prompt }) => ({ id, start: prompt })) };
};

const together = <Item,>(here: readonly Item[], there: readonly Item[], nameOf: (item: Item) => string): Item[] =>
  [...new Map([...there, ...here].map((item) => [nameOf(item), item])).values()].slice(0, MAX_EACH);

const commandsFor = (words: string, there: Found): Command[] => {
  const fixed = fixedCommands();
  if (words === "") return fixed.slice(0, MAX_SHOWN);
  const here = findHere(words);
  return [
    ...fixed.filter(({ label }) => label.toLowerCase().includes(words)),
    ...workerCommands(together(here.workers, there.workers, ({ instance }) => instance)).filter(({ label, hint }) =>
      VERB.test(words) ? label.toLowerCase().includes(words) : hint === "worker" || label.toLowerCase().includes(words),
    ),
    ...jobCommands(
      words,
      together(here.jobs, there.jobs, ({ id }) => id),
    ),
  ];
};

/** The list of suggestions is our own, not the browser's datalist. */
const COMBOBOX: object = { role: "combobox", "aria-expanded": true, "aria-controls": "palette-list" };

const Palette = () => {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const words = text.trim().toLowerCase();
  const asked = useSettled(words, TYPING_MS);
  const { data } = useLoad(asked === "" ? null : asked, async (abort) => ({
    asked,
    ...(await findThere(asked, abort)),
  }));
  const commands = commandsFor(words, data?.asked === words ? data : NOTHING);
  useEffect(() => document.getElementById(`palette-${at}`)?.scrollIntoView({ block: "nearest" }), [at]);
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt((at + step + commands.length) % commands.length);
    else if (event.key === "Enter") commands[at]?.run();
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go, find, act" onClose={close}>
      <input
        type="text"
        {...COMBOBOX}
        aria-label="Page, worker, job id, words or action"
        {...(commands.length > 0 ? { "aria-activedescendant": `palette-${at}` } : {})}
        value={text}
        autofocus
        onKeyDown={move}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
      />
      <div id="palette-list" class="palette" role="listbox" aria-label="Found">
        {commands.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field above
          <div
            key={`${index} ${command.hint} ${command.label}`}
            id={`palette-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={command.run}
          >
            <span>{command.label}</span>
            <span class="dim">{command.hint}</span>
          </div>
        ))}
      </div>
    </Dialog>
  );
};

const KEYS: readonly (readonly [key: string, does: string])[] = [
  ["Ctrl K", "open a page, find an id, pause or resume a worker, killswitch"],
  ["?", "this help"],
  ["/", "the page's search"],
  ["j, k", "in a list of jobs, and on a job's page: next, previous"],
  ["x", "in a list of jobs: select"],
  ["Enter", "in a list of jobs: open"],
  ["Escape", "close what is open"],
];

const Help = () => (
  <Dialog title="Keyboard shortcuts" onClose={close}>
    <dl class="facts">
      {KEYS.map(([key, does]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{does}</dd>
        </div>
      ))}
    </dl>
    <div class="dialog-foot">
      <button type="button" class="button" onClick={close}>
        Close
      </button>
    </div>
  </Dialog>
);

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

const takeKey = (event: KeyboardEvent): void => {
  const isPalette = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k";
  const isHelp = event.key === "?" && !isTyping(event.target);
  if (!(isPalette || isHelp) || document.querySelector("dialog[open]") !== null) return;
  event.preventDefault();
  open.value = isPalette ? "palette" : "help";
};

export const PaletteHost = () => {
  useEffect(() => {
    addEventListener("keydown", takeKey);
    return () => {
      removeEventListener("keydown", takeKey);
      close();
    };
  }, []);
  if (open.value === "palette") return <Palette />;
  if (open.value === "help") return <Help />;
  if (open.value === "engage") return <EngageDialog onClose={close} />;
  if (open.value === "clear") return <ClearDialog onClose={close} />;
  return open.value === null ? null : <PauseDialog worker={open.value.pause} onClose={close} />;
};
