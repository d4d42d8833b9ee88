// The command palette: open a page or what is found, pause or resume a worker, run a schedule, engage or clear the
// killswitch. Also lists the keyboard shortcuts.

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { WorkerResource } from "../../contract/fleet/worker.ts";
import { entryOf } from "../../contract/words/values.ts";
import { shortened } from "../format.ts";
import { Dialog } from "../parts/dialog.tsx";
import { PauseDialog, resumeWorker } from "../parts/worker-actions.tsx";
import { go, href } from "../router.ts";
import { runNow } from "../schedules/run-now.ts";
import { settingsPages } from "../settings/settings-tabs.tsx";
import { isHalted } from "../state/board.ts";
import { useLoad, useSettled } from "../state/load.ts";
import { mayOpen } from "../state/may-open.ts";
import { mayOperate } from "../state/session.ts";
import { ClearDialog, EngageDialog } from "./killswitch-dialog.tsx";
import { destinations } from "./nav.tsx";
import {
  type Found,
  type FoundJob,
  findHere,
  findThere,
  MAX_LABEL_CHARS,
  NOTHING,
  readThings,
  type Thing,
  thingsWith,
  together,
  VERB,
} from "./palette-found.ts";

type Open = "palette" | "help" | "engage" | "clear" | { readonly pause: WorkerResource } | null;

const open = signal<Open>(null);
const close = (): void => {
  open.value = null;
};
const WHOLE_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

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
  ...(mayOpen("jobs/new") ? [{ label: "New job", hint: "page", run: goTo("#/jobs/new") }] : []),
  ...(mayOpen("fleet/~add") ? [{ label: "Add a worker", hint: "page", run: goTo("#/fleet/~add") }] : []),
  { label: "Keyboard shortcuts", hint: "help", run: show("help") },
  ...(mayOperate.value ? [{ label: "Killswitch", hint: "action", run: show("engage") }] : []),
  ...(mayOperate.value && isHalted.value
    ? [{ label: "Clear the killswitch", hint: "action", run: show("clear") }]
    : []),
  ...settingsPages()
    .slice(1)
    .map(([path, label]) => ({ label, hint: "settings", run: goTo(`#/${path}`) })),
];

/** What people type who do not have its name at hand. */
const ALSO: Readonly<Record<string, string>> = {
  Killswitch: "stop halt emergency",
  "Clear the killswitch": "resume all",
  Settings: "config budget",
};

const resume = (worker: WorkerResource) => (): void => {
  open.value = null;
  void resumeWorker(worker);
};

const actionsOn = (worker: WorkerResource): Command[] => {
  if (!mayOperate.value || (worker.paused && isHalted.value)) return [];
  const { instance, paused } = worker;
  return [
    paused
      ? { label: `Resume ${instance}`, hint: "action", run: resume(worker) }
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

const run = (name: string) => (): void => {
  open.value = null;
  void runNow(name);
};

const thingCommands = (things: readonly Thing[]): Command[] =>
  things.flatMap(({ kind, label, id, address }) => [
    { label, hint: kind, run: goTo(address) },
    ...(kind === "schedule" && mayOperate.value ? [{ label: `Run ${id}`, hint: "action", run: run(id) }] : []),
  ]);

const commandsFor = (words: string, there: Found, things: readonly Thing[]): Command[] => {
  const fixed = fixedCommands();
  if (words === "") return fixed;
  const here = findHere(words);
  const isSaid = ({ label }: Command): boolean => label.toLowerCase().includes(words);
  const found = [
    ...workerCommands(together(here.workers, there.workers, ({ instance }) => instance)),
    ...thingCommands(thingsWith(things, words)),
  ];
  return [
    ...fixed.filter((command) => isSaid(command) || ` ${entryOf(ALSO, command.label) ?? ""}`.includes(` ${words}`)),
    ...found.filter((command) => isSaid(command) || (command.hint !== "action" && !VERB.test(words))),
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
  const asked = useSettled(words);
  const { data } = useLoad(asked === "" ? null : asked, async (abort) => ({
    asked,
    ...(await findThere(asked, abort)),
  }));
  const { data: things } = useLoad(words === "" ? null : "things", readThings);
  const commands = commandsFor(words, data?.asked === words ? data : NOTHING, things ?? []);
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
        placeholder="Page, job, worker, schedule, batch, key or action"
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
  ["Ctrl K", "open a page, find anything by name or id, act on a worker or schedule, killswitch"],
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

/** Opens it from a button. */
export const openPalette = show("palette");

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
