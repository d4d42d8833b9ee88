// Messages from a tenant to the objects of its files, after a commit. Nothing waits for those that drop something: an
// object that misses one deletes its bytes by its own alarm.

import type { BatchRecord } from "../../domain/batch/batch.ts";
import { type FileRecord, type FileView, isShelved } from "../../domain/file/file.ts";
import { fileName, type Jurisdiction, linesName, objectNamed } from "../object-name.ts";
import type { FilesHome, StoredFile } from "./stored-file.ts";

const ENDED_AT_ONCE = 25;

/** What a batch asks of the object of its file. */
export type BatchFile = Pick<StoredFile, "learnBatch" | "takeLines" | "recordLines" | "closeBatch">;

/** What a tenant's batches need of its files. */
export interface BatchFiles {
  readonly home: FilesHome;
  readonly of: (id: string) => BatchFile;
}

export class FileObjects {
  readonly #namespace: DurableObjectNamespace<StoredFile>;
  readonly #tenant: string;
  readonly #jurisdiction: () => Jurisdiction | null;

  constructor(namespace: DurableObjectNamespace<StoredFile>, tenant: string, jurisdiction: () => Jurisdiction | null) {
    this.#namespace = namespace;
    this.#tenant = tenant;
    this.#jurisdiction = jurisdiction;
  }

  get home(): FilesHome {
    return { tenant: this.#tenant, jurisdiction: this.#jurisdiction() };
  }

  /** The object of one file alone. */
  of(id: string): BatchFile & Pick<StoredFile, "dropView"> {
    return this.#named(linesName(this.#tenant, id));
  }

  #named(name: string): StoredFile {
    return objectNamed(this.#namespace, name, this.#jurisdiction());
  }

  async drop(ids: readonly string[], views: readonly FileView[]): Promise<void> {
    // One after another: several may lie in one object, and the last of them ends it.
    for (const { fileId, batch, form } of views)
      await this.of(fileId)
        .dropView(batch, form)
        .catch(() => undefined);
    const byObject = Map.groupBy(ids, (id) => fileName(this.#tenant, id));
    await Promise.allSettled(
      [...byObject].map(([name, [id = "", ...more]]) =>
        isShelved(id) ? this.#named(name).dropShelved([id, ...more]) : this.#named(name).drop(),
      ),
    );
  }

  /** Their tenant ends. Throws if one of the objects is left. */
  end(files: readonly Pick<FileRecord, "id" | "view">[]): Promise<void> {
    return this.#end(files.map(({ id, view }) => linesName(this.#tenant, view?.fileId ?? id)));
  }

  /** The tenant of all files on shelves, and of these batches, ends. */
  endShared(shelved: readonly string[], batches: readonly Pick<BatchRecord, "fileId">[]): Promise<void> {
    const shelves = shelved.map((id) => fileName(this.#tenant, id));
    return this.#end([...shelves, ...batches.map(({ fileId }) => linesName(this.#tenant, fileId))]);
  }

  async #end(repeated: readonly string[]): Promise<void> {
    const names = [...new Set(repeated)];
    for (let at = 0; at < names.length; at += ENDED_AT_ONCE)
      await Promise.all(names.slice(at, at + ENDED_AT_ONCE).map((name) => this.#named(name).end()));
  }
}
