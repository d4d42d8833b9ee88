// Stored files with what each is for, its size, and a link that downloads it. A file may be gone: expired or deleted.

import type { ComponentChildren } from "preact";
import { ApiProblem } from "../../contract/client/problem.ts";
import type { FileResource } from "../../contract/file.ts";
import { api } from "../api.ts";
import { bytesText } from "../format.ts";
import { useLoad } from "../state/load.ts";
import { ForOperators } from "./for-operators.tsx";
import { Time } from "./time.tsx";

type Facts = Pick<FileResource, "name" | "bytes"> & Partial<Pick<FileResource, "expires_at">>;

const isGone = (error: Error): boolean => error instanceof ApiProblem && error.status === 404;

/** A viewer reads the records, but no bytes. */
const Download = ({ id, name }: { id: string; name: string }) => (
  <ForOperators>
    <a
      class="button small"
      href={`/api/files/${encodeURIComponent(id)}/content`}
      download={name}
      aria-label={`Download: ${name}`}
    >
      Download
    </a>
  </ForOperators>
);

interface StoredFileProps {
  /** What the file is here, such as "Input". */
  readonly says: string;
  readonly id: string;
  /** Where they are known already. */
  readonly facts?: Facts;
}

export const StoredFile = ({ says, id, facts }: StoredFileProps) => {
  const { data, error } = useLoad(facts === undefined ? id : null, (signal) => api.files.get(id, { signal }));
  const known: Facts | null = facts ?? data;
  const unknown = error === null ? "…" : isGone(error) ? "gone: it has expired or was deleted" : error.message;
  return (
    <li>
      <span class="stored-says">{says}</span>
      <span class="stored-name">
        {known?.name ?? <code>{id}</code>}
        <span class="row-note dim">
          {known === null ? unknown : bytesText(known.bytes)}
          {known?.expires_at !== undefined && (
            <>
              {" "}
              · kept until <Time at={known.expires_at} as="full" />
            </>
          )}
        </span>
      </span>
      {known !== null && <Download id={id} name={known.name} />}
    </li>
  );
};

export const StoredFiles = ({ children }: { children: ComponentChildren }) => <ul class="stored-files">{children}</ul>;
