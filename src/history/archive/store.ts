// Where the archive's parts lie: an R2 bucket in a deployment, a folder on a server. A part is written once and never
// changed. Its key is `<tenant>/<day>/<name>`.

import { NO_CONTENT, NOT_FOUND, OK } from "../../../contract/words/http-status.ts";
import type { Env } from "../../env.ts";
import type { ArchiveFolder } from "../../home.ts";

export interface ArchiveStore {
  readonly put: (key: string, bytes: Uint8Array<ArrayBuffer>) => Promise<void>;
  /** Null if there is none. */
  readonly get: (key: string) => Promise<Uint8Array<ArrayBuffer> | null>;
  readonly remove: (key: string) => Promise<void>;
  /** Deletes everything of a tenant. */
  readonly removeAll: (tenant: string) => Promise<void>;
}

/** Null where no place is bound: old jobs are then deleted. */
export const archiveOf = ({
  ARCHIVE: bucket,
  ARCHIVE_FOLDER: folder,
}: Pick<Env, "ARCHIVE" | "ARCHIVE_FOLDER">): ArchiveStore | null => {
  if (bucket !== undefined) return inBucket(bucket);
  return folder === undefined ? null : inFolder(folder);
};

const inBucket = (bucket: R2Bucket): ArchiveStore => ({
  put: async (key, bytes) => {
    await bucket.put(key, bytes);
  },
  get: async (key) => {
    const found = await bucket.get(key);
    return found === null ? null : new Uint8Array(await found.arrayBuffer());
  },
  remove: (key) => bucket.delete(key),
  removeAll: async (tenant) => {
    for (;;) {
      const { objects } = await bucket.list({ prefix: `${tenant}/` });
      if (objects.length === 0) return;
      await bucket.delete(objects.map(({ key }) => key));
    }
  },
});

const inFolder = (folder: ArchiveFolder): ArchiveStore => {
  const ask = async (key: string, method: string, body?: Uint8Array<ArrayBuffer>): Promise<Response | null> => {
    const answer = await folder.fetch(`http://archive/${key}`, { method, ...(body === undefined ? {} : { body }) });
    if (answer.status === NOT_FOUND) return null;
    if (answer.status !== OK && answer.status !== NO_CONTENT)
      throw new Error(`the archive's folder answered ${answer.status}`);
    return answer;
  };
  const remove = async (key: string): Promise<void> => {
    await ask(key, "DELETE");
  };
  return {
    put: async (key, bytes) => {
      if ((await ask(key, "PUT", bytes)) === null) throw new Error("the archive's folder is gone");
    },
    get: async (key) => {
      const answer = await ask(key, "GET");
      return answer === null ? null : new Uint8Array(await answer.arrayBuffer());
    },
    remove,
    removeAll: remove,
  };
};
