// `models list|pull|load|unload|delete|place`: the models of the machines, and tasks for them, followed to their end.

import { setTimeout as pause } from "node:timers/promises";
import type { ModelTaskResource, PlaceAnswer } from "../../contract/fleet/model-task.ts";
import type { WorkerResource } from "../../contract/fleet/worker.ts";
import { isTaskOver, MAX_COPIES } from "../../contract/words/values.ts";
import { Failure, UsageError } from "../failure.ts";
import type { Input } from "../input.ts";
import { barOf, bytesText } from "../progress.ts";
import type { Context, Flag, Verb } from "../verb.ts";
import { whileAway } from "../while-away.ts";

const LOOK_EVERY_MS = 1_000;
const TAG_PREFIX = "tag:";

const MODEL = { name: "model", says: "the model, as the runtime names it: qwen3:8b" } as const;
const ON: Flag = { takes: "instance|tag:name", says: "the worker, or all that offer a tag" };
const COPIES: Flag = { takes: "n", says: "on no more than so many of them, the best places first" };
const DRY_RUN: Flag = { takes: null, says: "only says which workers would get the task" };
const NO_WAIT: Flag = { takes: null, says: "prints the tasks and does not wait for their end" };

type Action = ModelTaskResource["action"];

const all = async <Item>(items: AsyncIterable<Item>): Promise<Item[]> => {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
};

interface ListedModel {
  readonly model: string;
  readonly worker: string;
  readonly state: string;
  readonly bytes: number | null;
}

const modelsOf = (worker: WorkerResource, tasks: readonly ModelTaskResource[]): ListedModel[] => {
  const { instance, loaded, on_disk: onDisk, status } = worker;
  const sizes = new Map((onDisk ?? []).map(({ model, bytes }) => [model, bytes]));
  const inMemory = new Set((loaded ?? []).map(({ model }) => model));
  const own = new Map(tasks.filter((task) => task.worker === instance).map((task) => [task.model, task]));
  const away = status === "offline" ? ", offline" : "";
  return [...new Set([...inMemory, ...sizes.keys(), ...own.keys()])].sort().map((model) => {
    const task = own.get(model);
    const here = inMemory.has(model) ? "loaded" : sizes.has(model) ? "on disk" : "absent";
    const does = task === undefined ? "" : `, ${task.action}: ${task.progress.stage}`;
    return { model, worker: instance, state: `${here}${does}${away}`, bytes: sizes.get(model) ?? null };
  });
};

const list = async ({ client, output, signal }: Context): Promise<void> => {
  const [workers, tasks] = await Promise.all([
    all(client().workers.list({ limit: 200 }, { signal })),
    all(client().models.tasks({ limit: 200 }, { signal })),
  ]);
  const open = tasks.filter((task) => !isTaskOver(task));
  const models = workers.flatMap((worker) => modelsOf(worker, open));
  output.table({ models }, models, [
    { title: "model", of: ({ model }) => model },
    { title: "worker", of: ({ worker }) => worker },
    { title: "state", of: ({ state }) => state },
    { title: "size", of: ({ bytes }) => (bytes === null ? null : bytesText(bytes)) },
  ]);
};

const copiesOf = (input: Input): number | undefined => {
  const copies = input.number("copies");
  if (copies === undefined || (Number.isInteger(copies) && copies >= 1 && copies <= MAX_COPIES)) return copies;
  throw new UsageError(`--copies is a whole number from 1 to ${MAX_COPIES}`);
};

/** The workers that `--on` names; with `--copies` the best of them. */
const targets = async (context: Context, input: Input, action: Action): Promise<string[]> => {
  const { client, signal } = context;
  const on = input.text("on");
  if (on === undefined) throw new UsageError("name the worker with --on <instance>, or --on tag:<name>");
  const copies = copiesOf(input);
  if (!on.startsWith(TAG_PREFIX)) return [on];
  const tag = on.slice(TAG_PREFIX.length);
  const workers = await all(client().workers.list({ tag, limit: 200 }, { signal }));
  const able = workers.filter(({ can }) => can?.includes(action)).map(({ instance }) => instance);
  if (able.length === 0) throw new Failure(`no worker with the tag ${tag} takes tasks to ${action} models`);
  if (copies === undefined) return able;
  const placed = await client().models.place({ model: input.arg("model"), tags: [tag], dry_run: true }, { signal });
  const ranks = placed.workers.map(({ instance }) => instance);
  const rankOf = (instance: string): number => (ranks.indexOf(instance) + 1 || ranks.length + 1) - 1;
  return able.sort((one, other) => rankOf(one) - rankOf(other)).slice(0, copies);
};

/** All tasks together: their bytes, and what the first that runs does. */
export const progressOf = (tasks: readonly ModelTaskResource[]): string => {
  const over = tasks.filter(isTaskOver).length;
  const sum = (field: "completed_bytes" | "total_bytes" | "bytes_per_second"): number =>
    tasks.reduce((total, { progress }) => total + (progress[field] ?? 0), 0);
  const [done, total] = [sum("completed_bytes"), sum("total_bytes")];
  const speed = tasks
    .filter((task) => !isTaskOver(task))
    .reduce((all, one) => all + (one.progress.bytes_per_second ?? 0), 0);
  const bytes = total === 0 ? "" : ` ${barOf(done, total)} ${bytesText(done)} of ${bytesText(total)}`;
  const rate = speed === 0 ? "" : `, ${bytesText(speed)}/s`;
  const running = tasks.find((task) => task.status === "running") ?? tasks.find((task) => !isTaskOver(task));
  const doing = running === undefined ? "" : `, ${running.worker}: ${running.progress.stage}`;
  return `${over}/${tasks.length} over${bytes}${rate}${doing}`;
};

/** Those of the tasks that the service still lists. */
const findTasks = async ({ client, signal }: Context, ids: ReadonlySet<string>) => {
  const known = new Map<string, ModelTaskResource>();
  for await (const task of client().models.tasks({ limit: 200 }, { signal })) {
    if (ids.has(task.id)) known.set(task.id, task);
    if (known.size === ids.size) break;
  }
  return known;
};

/** Shows the tasks until all are over. Interrupted, they go on. */
const follow = async (context: Context, given: readonly ModelTaskResource[]) => {
  const { output, signal } = context;
  const ids = new Set(given.map(({ id }) => id));
  let tasks = given;
  for (let shown = ""; ; await pause(LOOK_EVERY_MS, undefined, { signal })) {
    const known = await whileAway(context, () => findTasks(context, ids));
    tasks = tasks.map((task) => known.get(task.id) ?? task);
    const text = progressOf(tasks);
    const isEnd = tasks.every(isTaskOver) || known.size === 0;
    if (text !== shown || isEnd) output.progress(text, isEnd);
    shown = text;
    if (isEnd) return tasks;
  }
};

const showTasks = ({ output }: Context, tasks: readonly ModelTaskResource[]): number => {
  output.table({ tasks }, tasks, [
    { title: "task", of: ({ id }) => id },
    { title: "worker", of: ({ worker }) => worker },
    { title: "action", of: ({ action, model }) => `${action} ${model}` },
    { title: "status", of: ({ status }) => status },
    { title: "error", of: ({ error }) => error?.message },
  ]);
  return tasks.some(({ status }) => status === "failed" || status === "cancelled") ? 1 : 0;
};

const finish = async (context: Context, input: Input, tasks: readonly ModelTaskResource[]): Promise<number> =>
  showTasks(context, input.is("no-wait") || tasks.length === 0 ? tasks : await follow(context, tasks));

/** Without a unit it counts seconds, which Ollama reads as a number alone. */
const keepAliveOf = (text: string | undefined): string | number | undefined =>
  text !== undefined && /^-?\d+$/.test(text) ? Number(text) : text;

/** The workers of a tag are known to take the task; a named one is asked here. */
const showTargets = async (
  { client, output, signal }: Context,
  instances: readonly string[],
  { action, model }: { action: Action; model: string },
): Promise<number> => {
  const [only, ...others] = instances;
  if (only !== undefined && others.length === 0) {
    const { can } = await client().workers.get(only, { signal });
    if (!can?.includes(action)) throw new Failure(`worker ${only} takes no tasks to ${action} models`);
  }
  const workers = instances.map((instance) => ({ instance, action, model }));
  output.table({ tasks: [], workers }, workers, [
    { title: "worker", of: ({ instance }) => instance },
    { title: "action", of: () => `${action} ${model}` },
  ]);
  return 0;
};

const give =
  (action: Action) =>
  async (context: Context, input: Input): Promise<number> => {
    const order = { action, model: input.arg("model"), keep_alive: keepAliveOf(input.text("keep-alive")) };
    const instances = await targets(context, input, action);
    if (input.is("dry-run")) return showTargets(context, instances, order);
    const tasks: ModelTaskResource[] = [];
    for (const instance of instances)
      tasks.push(await context.client().models.task(instance, order, { signal: context.signal }));
    return finish(context, input, tasks);
  };

const showPlaces = ({ output }: Context, placed: PlaceAnswer): void =>
  output.table(placed, placed.workers, [
    { title: "worker", of: ({ instance }) => instance },
    { title: "score", of: ({ score }) => score },
    { title: "why", of: ({ reasons }) => reasons.join("; "), wraps: true },
  ]);

const place = async (context: Context, input: Input): Promise<number> => {
  const on = input.text("on");
  if (on !== undefined && !on.startsWith(TAG_PREFIX)) throw new UsageError("place chooses the worker: --on tag:<name>");
  const placement = {
    model: input.arg("model"),
    copies: copiesOf(input) ?? 1,
    ...(on === undefined ? {} : { tags: [on.slice(TAG_PREFIX.length)] }),
    dry_run: input.is("dry-run"),
  };
  const placed = await context.client().models.place(placement, { signal: context.signal });
  if (!placement.dry_run && placed.tasks.length > 0) return finish(context, input, placed.tasks);
  if (!placement.dry_run && !context.output.isJson) context.output.say("No task was given. Of each worker, why:");
  showPlaces(context, placed);
  return 0;
};

const KEEP_ALIVE: Flag = { takes: "time", says: "how long it stays loaded without use: 30m, -1m for ever" };
const EACH = { on: ON, "dry-run": DRY_RUN, "no-wait": NO_WAIT } as const;
const MANY = { ...EACH, copies: COPIES } as const;

export const modelCommands: readonly Verb[] = [
  {
    name: "models list",
    says: "Lists the models on the machines: loaded, on disk, on their way",
    examples: ["models list", "models list --json"],
    run: list,
  },
  {
    name: "models pull",
    says: "Downloads a model on workers that run with --manage-models, and shows how far",
    examples: ["models pull qwen3:8b --on gpu-1", "models pull qwen3:8b --on tag:gpu --copies 2 --dry-run"],
    args: [MODEL],
    flags: MANY,
    run: give("pull"),
  },
  {
    name: "models load",
    says: "Loads a model into memory",
    examples: ["models load qwen3:8b --on gpu-1 --keep-alive 30m"],
    args: [MODEL],
    flags: { ...MANY, "keep-alive": KEEP_ALIVE },
    run: give("load"),
  },
  {
    name: "models unload",
    says: "Frees the memory of a model",
    examples: ["models unload qwen3:8b --on gpu-1"],
    args: [MODEL],
    flags: EACH,
    run: give("unload"),
  },
  {
    name: "models delete",
    says: "Deletes a model from the disk",
    examples: ["models delete qwen3:8b --on tag:laptop"],
    args: [MODEL],
    flags: EACH,
    run: give("delete"),
  },
  {
    name: "models place",
    says: "Loads or pulls a model where there is room, until so many workers have it",
    examples: ["models place qwen3:8b --copies 2 --dry-run", "models place qwen3:8b --on tag:gpu"],
    args: [MODEL],
    flags: {
      on: { takes: "tag:name", says: "only on workers that offer the tag" },
      copies: { takes: "n", says: "on how many workers, those that have it included (1)" },
      "dry-run": { takes: null, says: "only says where there is room, and why" },
      "no-wait": NO_WAIT,
    },
    run: place,
  },
];
