// The objects of files, as far as batches use them: the real lines on SQLite. They outlive the tenant's crashes; a call
// may get lost, or its answer.

import { DatabaseSync } from "node:sqlite";
import { BatchLines, type LearnRequest } from "../../durable-objects/files/batch-lines.ts";
import type { BatchFile } from "../../durable-objects/files/file-objects.ts";
import type { Row, Sql, SqlValue } from "../../durable-objects/store/sql.ts";
import { SimulatedFault } from "./disk.ts";

const OBJECT_OF = /\/file\/(.+)$/;
const NOTHING = { bytes: 0, sha256: "none" };

const sqlOf = (database: DatabaseSync): Sql => ({
  exec: (query, ...bindings: SqlValue[]) => {
    const rows = database.prepare(query).all(...bindings) as Row[];
    return { toArray: () => rows };
  },
  databaseSize: 0,
});

interface ToldInFile {
  readonly custom_id: string;
  readonly response: { readonly body: unknown } | null;
}

interface StoredLines {
  readonly bytes: Uint8Array;
  readonly lines: BatchLines;
}

export class BatchFiles {
  readonly #files = new Map<string, StoredLines>();
  /** Batches that were closed, with their file. */
  readonly closed = new Map<string, string>();
  /** How many of the next calls are lost: before they are heard, or their answers. */
  lostCount = 0;
  #isAnswerLost = false;

  put(id: string, text: string): number {
    const bytes = new TextEncoder().encode(text);
    const database = new DatabaseSync(":memory:");
    const lines = new BatchLines(sqlOf(database), function* (from, to) {
      yield bytes.subarray(from, to);
    });
    this.#files.set(id, { bytes, lines });
    return bytes.byteLength;
  }

  /** What a closed batch says of its lines. */
  told(
    fileId: string,
    batch: string,
    form: "out" | "err",
  ): { custom_id: string; response: { body: unknown } | null }[] {
    const lines = this.#files.get(fileId)?.lines;
    if (lines === undefined) return [];
    const { output, errors } = lines.sizes(batch);
    const pieces = [...lines.view(batch, form, 0, form === "out" ? output : errors)];
    const text = Buffer.concat(pieces).toString("utf8").trimEnd();
    return text === "" ? [] : text.split("\n").map((one: string) => JSON.parse(one) as ToldInFile);
  }

  async #heard<T>(work: () => T): Promise<T> {
    const isLost = this.lostCount > 0;
    if (isLost) {
      this.lostCount -= 1;
      this.#isAnswerLost = !this.#isAnswerLost;
    }
    if (isLost && !this.#isAnswerLost) throw new SimulatedFault("a file's object does not answer");
    const answer = work();
    if (isLost) throw new SimulatedFault("the answer of a file's object is lost");
    return answer;
  }

  /** As the platform's namespace gives it. */
  getByName(name: string): BatchFile & { drop: () => Promise<void>; dropView: () => Promise<void> } {
    const id = OBJECT_OF.exec(name)?.[1] ?? "";
    const lines = this.#files.get(id)?.lines;
    const known = (): BatchLines => {
      if (lines === undefined) throw new Error(`nothing is stored in file ${id}`);
      return lines;
    };
    return {
      learnBatch: (asked: LearnRequest) => this.#heard(() => known().learn(asked)),
      takeLines: (batch, model, cursor, limit) => this.#heard(() => known().take(batch, model, cursor, limit)),
      recordLines: (batch, answers) => this.#heard(() => known().record(batch, answers)),
      closeBatch: (batch, ending) =>
        this.#heard(() => {
          while (!known().close(batch, ending));
          this.closed.set(batch, id);
          const { output, errors } = known().sizes(batch);
          return { out: { ...NOTHING, bytes: output }, err: { ...NOTHING, bytes: errors } };
        }),
      drop: async () => {},
      dropView: async () => {},
    };
  }
}
