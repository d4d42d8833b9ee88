// The config as text: read with its ETag, checked by the coordinator while it is edited, saved only over the version
// that was read.

import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api } from "../api.ts";
import { keepDraft, takeDraft } from "../state/drafts.ts";
import { useSettled } from "../state/load.ts";
import { whenUserChanges } from "../state/session.ts";

export interface StoredConfig {
  readonly text: string;
  readonly etag: string | null;
}

interface Draft {
  readonly text: string;
  /** What it changes: a version that was saved since is not overwritten with it. */
  readonly over: StoredConfig;
}

/** Edited text that is not saved yet; kept while another page is shown. */
export const unsaved = signal<Draft | null>(null);

const FORM = "config.yaml";

whenUserChanges(() => {
  if (unsaved.peek() !== null) keepDraft(FORM, unsaved.peek());
  unsaved.value = null;
});

/** What was not saved when the session ended. */
export const useKeptDraft = (): void =>
  useLayoutEffect(() => {
    unsaved.value ??= takeDraft<Draft>(FORM);
  }, []);

/** The browser asks before it closes the page. */
addEventListener("beforeunload", (event) => {
  if (unsaved.peek() !== null) event.preventDefault();
});

export const readConfig = async (signal?: AbortSignal): Promise<StoredConfig> => {
  const { document, etag } = await api.config.getYaml({ signal });
  return { text: document, etag };
};

export const saveConfig = async (text: string, etag: string | null): Promise<void> => {
  await api.config.replaceYaml(text, { ifMatch: etag });
};

export type Check = { state: "clean" | "checking" | "valid" } | { state: "invalid"; error: Error };

/** Checks whether a draft is valid; the newest draft wins. */
export const useConfigCheck = (draft: string, stored: string | null): Check => {
  const settled = useSettled(draft);
  const [checked, setChecked] = useState<{ text: string; error: Error | null } | null>(null);
  const newest = useRef(settled);
  newest.current = settled;
  useEffect(() => {
    if (stored === null || settled === stored) return;
    const abort = new AbortController();
    api.config.replaceYaml(settled, { isDryRun: true, signal: abort.signal }).then(
      () => newest.current === settled && setChecked({ text: settled, error: null }),
      (error) => !abort.signal.aborted && setChecked({ text: settled, error }),
    );
    return () => abort.abort();
  }, [settled, stored]);
  if (stored === null || draft === stored) return { state: "clean" };
  if (checked === null || checked.text !== draft) return { state: "checking" };
  return checked.error === null ? { state: "valid" } : { state: "invalid", error: checked.error };
};
