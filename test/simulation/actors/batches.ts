// Batches: clients that make and cancel them, and the objects of their files, which are silent or slow, or do what they
// are asked and never say so. What such an object keeps is real (`BatchLines`), on SQLite in memory.

import { newShelvedId } from "../../../domain/file/file.ts";
import { BatchLines } from "../../../durable-objects/files/batch-lines.ts";
import type { BatchFile } from "../../../durable-objects/files/file-objects.ts";
import type { StoredFile } from "../../../durable-objects/files/stored-file.ts";
import type { Sql, SqlValue } from "../../../durable-objects/store/sql.ts";
import type { StepKind } from "../plan.ts";
import type { Clock } from "../platform/clock.ts";
import { Database } from "../platform/database.ts";
import { SimulatedFault } from "../platform/disk.ts";
import { oneOf, pickOf } from "../platform/random.ts";
import type { Action, World } from "../world.ts";

const ENDPOINT = "/v1/chat/completions";
const WINDOW_MS = 6 * 3_600_000;
const FILE_LIFE_MS = 30 * 86_400_000;
const MOST_LINES = 30;
const SLOW_MS = 2_000;
const MOODS = ["fine", "fine", "slow", "silent", "deaf"] as const;

const sqlOf = (database: Database): Sql => ({
  exec: (query, ...bindings: SqlValue[]) => {
    const rows = database.rows(query, ...bindings);
    return { toArray: () => rows };
  },
  databaseSize: 0,
});

type FileObject = BatchFile & Pick<StoredFile, "drop" | "dropShelved" | "dropView" | "end">;

/** The objects of the files; they outlive every life of the tenant's object. */
export class FileObjects {
  /** `deaf`: they do what they are asked, and their answer is lost. */
  mood: (typeof MOODS)[number] = "fine";
  /** One of them has once not done or not said what it was asked for. */
  hasFailed = false;
  /** Files whose bytes are there. */
  readonly #kept = new Set<string>();
  readonly #clock: Clock;
  readonly #lines = new Map<string, BatchLines>();
  readonly #bytes = new Map<string, Uint8Array>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  readonly binding = { getByName: (name: string): FileObject => this.#object(name.split("/file/")[1] ?? "") };

  keep(id: string): void {
    this.#kept.add(id);
  }

  has(id: string): boolean {
    return this.#kept.has(id);
  }

  /** Stores a file; returns its size. */
  put(id: string, text: string): number {
    const bytes = new TextEncoder().encode(text);
    this.#lines.set(id, new BatchLines(sqlOf(new Database())));
    this.keep(id);
    this.#bytes.set(id, bytes);
    return bytes.byteLength;
  }

  /** The names in a batch's output and error file. */
  namesIn(id: string, batch: string): string[] {
    const lines = this.#linesOf(id);
    const { output, errors } = lines.sizes(batch);
    const pieces = [...lines.view(batch, "out", 0, output), ...lines.view(batch, "err", 0, errors)];
    const text = Buffer.concat(pieces).toString().trimEnd();
    return text === ""
      ? []
      : text.split("\n").map((line: string) => (JSON.parse(line) as { custom_id: string }).custom_id);
  }

  #linesOf(id: string): BatchLines {
    const lines = this.#lines.get(id);
    if (lines === undefined) throw new Error(`nobody stored the file ${id}`);
    return lines;
  }

  async #answer<T>(work: () => T): Promise<T> {
    const { mood } = this;
    this.hasFailed ||= mood !== "fine";
    if (mood === "silent") throw new SimulatedFault("the object of a file does not answer");
    const done = structuredClone(work());
    if (mood === "slow") await new Promise<void>((resolve) => this.#clock.setTimeout(resolve, SLOW_MS));
    if (mood === "deaf") throw new SimulatedFault("the answer of a file's object is lost");
    return done;
  }

  #object(id: string): FileObject {
    const file = () => this.#linesOf(id);
    const read = (from: number, to: number) => [this.#bytes.get(id)?.subarray(from, to) ?? new Uint8Array()];
    return {
      learnBatch: (asked) => this.#answer(() => file().learn(asked, read)),
      takeLines: (batch, model, cursor, limit) => this.#answer(() => file().take(batch, model, cursor, limit, read)),
      recordLines: (batch, answers) => this.#answer(() => file().record(batch, answers)),
      closeBatch: (batch, ending) =>
        this.#answer(() => {
          if (!file().close(batch, ending)) return null;
          const { output, errors } = file().sizes(batch);
          return { out: { bytes: output, sha256: "out" }, err: { bytes: errors, sha256: "err" } };
        }),
      drop: () => this.#answer(() => void this.#kept.delete(id)),
      dropShelved: (ids) =>
        this.#answer(() => {
          for (const one of ids) this.#kept.delete(one);
        }),
      dropView: async () => undefined,
      end: async () => void this.#kept.delete(id),
    };
  }
}

const makeBatch: Action = async (world, [count, model, again]) => {
  const { admin, shell, model: known } = world;
  const names = Array.from({ length: 1 + Math.floor(count * MOST_LINES) }, () => world.fresh("line"));
  for (const name of names) known.asked.add(name);
  const lineOf = (custom_id: string, at: number): string => {
    const body = { model: at % 3 === 0 ? oneOf(["m", "other"], model) : "m", messages: [] };
    return JSON.stringify({ custom_id, method: "POST", url: ENDPOINT, body });
  };
  const fileId = count < 0.5 ? newShelvedId(world.fresh("file")) : world.fresh("file");
  const bytes = shell.files.put(fileId, names.map(lineOf).join("\n"));
  const file = { id: fileId, name: "in", contentType: "application/jsonl", purpose: "batch" };
  const announced = await shell.call(admin, "announceFile", { id: fileId, bytes: null, origin: "https://x.example" });
  if (announced?.ok !== true) return;
  const arrived = { ...file, bytes, sha256: "in", lifeMs: FILE_LIFE_MS };
  if ((await shell.call(admin, "finishFile", arrived))?.ok !== true) return;
  const id = world.fresh("batch");
  const asked = {
    id,
    form: "openai" as const,
    fileId,
    origin: "https://x.example",
    api: "chat/completions" as const,
    completionWindow: "6h",
    windowMs: WINDOW_MS,
    metadata: null,
    outputLifeMs: FILE_LIFE_MS,
  };
  known.batches.push({ id, fileId, names });
  await shell.call(admin, "createBatch", asked);
  if (again < 0.2) await shell.call(admin, "createBatch", asked);
};

const cancelBatch: Action = async ({ admin, model, shell }, [which]) => {
  const batch = pickOf(model.batches, which);
  if (batch !== undefined) await shell.call(admin, "cancelBatch", { id: batch.id });
};

const changeFiles: Action = ({ shell }, [mood]) => {
  shell.files.mood = oneOf(MOODS, mood);
};

interface BatchRow {
  readonly id: string;
  readonly status: string;
  readonly isOver: boolean;
}

const batchRows = ({ shell }: World): BatchRow[] =>
  shell.disk.rows("SELECT id, ended_at, record ->> 'status' AS status FROM batches").map((row) => ({
    id: row.id as string,
    status: row.status as string,
    isOver: row.ended_at !== null,
  }));

export const hasOpenBatches = (world: World): boolean => batchRows(world).some(({ isOver }) => !isOver);

/** However a batch has ended, each of its lines stands once in one of its two files. */
export const batchesAreWhole = (world: World): string | null => {
  const { model } = world;
  const rows = new Map(batchRows(world).map((row) => [row.id, row]));
  for (const { id, fileId, names } of world.model.batches) {
    const row = rows.get(id);
    // Of a file that was deleted the lines are gone.
    if (row === undefined || [...model.deleted].some((one) => one === fileId || one.startsWith(`file-${id}-`)))
      continue;
    if (!row.isOver) return `batch ${id} is ${row.status} for ever`;
    const found = world.shell.files.namesIn(fileId, id);
    const missing = names.find((name) => !found.includes(name));
    if (missing !== undefined) return `line ${missing} of batch ${id} (${row.status}) stands in neither of its files`;
    if (found.length !== names.length) return `batch ${id} has ${names.length} lines, and its files ${found.length}`;
  }
  return null;
};

export const BATCH_ACTIONS = {
  "make a batch": makeBatch,
  "stop a batch": cancelBatch,
  "change the objects of files": changeFiles,
} satisfies Partial<Record<StepKind, Action>>;
