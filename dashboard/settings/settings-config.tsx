// The config as YAML: checked while it is edited, shown as a diff before it is saved; never overwrites another person's
// change.

import { useState } from "preact/hooks";
import { ApiProblem } from "../../contract/client/problem.ts";
import { Confirm } from "../parts/dialog.tsx";
import { Lamp } from "../parts/lamp.tsx";
import { LoadState, Panel } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import { useLoad } from "../state/load.ts";
import { tell } from "../state/notice.ts";
import { isAdmin } from "../state/session.ts";
import { CodeEditor } from "./code-editor.tsx";
import {
  type Check,
  readConfig,
  type StoredConfig,
  saveConfig,
  unsaved,
  useConfigCheck,
  useKeptDraft,
} from "./config-draft.ts";
import { diffLines } from "./diff.ts";
import { DiffView } from "./diff-view.tsx";
import { SettingsPage } from "./settings-tabs.tsx";

const Verdict = ({ check }: { check: Check }) => {
  switch (check.state) {
    case "clean":
      return <p class="config-state dim">As saved.</p>;
    case "checking":
      return <p class="config-state dim">Checking …</p>;
    case "valid":
      return (
        <p class="config-state tone-clear">
          <Lamp aspect="done" /> Valid, not saved yet.
        </p>
      );
    case "invalid":
      return <Problem error={check.error} />;
  }
};

const SaveDialog = ({
  stored,
  draft,
  onSaved,
  onClose,
}: {
  stored: StoredConfig;
  draft: string;
  onSaved: () => void;
  onClose: () => void;
}) => {
  const save = async (): Promise<void> => {
    try {
      await saveConfig(draft, stored.etag);
    } catch (error) {
      const isOutdated = error instanceof ApiProblem && error.status === 412;
      if (!isOutdated) throw error;
      throw new Error(
        "Someone else saved another config meanwhile. Copy your text, press Undo to read the saved config, and repeat your change.",
      );
    }
    tell("Config saved. It applies from now on.");
    onSaved();
  };
  return (
    <Confirm title="Save this change?" tone="wide" action="Save" onConfirm={save} onClose={onClose}>
      <DiffView name="What changes" lines={diffLines(stored.text, draft)} />
    </Confirm>
  );
};

const Editor = ({ newest, reload }: { newest: StoredConfig; reload: () => void }) => {
  useKeptDraft();
  const stored = unsaved.value?.over ?? newest;
  const draft = unsaved.value?.text ?? stored.text;
  const setDraft = (text: string): void => {
    unsaved.value = text === stored.text ? null : { text, over: stored };
  };
  const [isSaving, setSaving] = useState(false);
  const check = useConfigCheck(draft, stored.text);
  const mayEdit = isAdmin.value;
  return (
    <Panel
      title="config.yaml"
      aside={
        mayEdit && (
          <span class="actions">
            <button
              type="button"
              class="button small"
              disabled={check.state === "clean"}
              onClick={() => {
                unsaved.value = null;
                reload();
              }}
            >
              Undo
            </button>
            <button
              type="button"
              class="button small primary"
              disabled={check.state !== "valid"}
              onClick={() => setSaving(true)}
            >
              Review and save
            </button>
          </span>
        )
      }
    >
      {/* Stays visible while one edits further down. */}
      <div class="config-verdict" aria-live="polite">
        {mayEdit ? <Verdict check={check} /> : <p class="dim">Changing the config needs a key with role admin.</p>}
      </div>
      <CodeEditor
        name="Config as YAML"
        value={draft}
        onInput={setDraft}
        isReadOnly={!mayEdit}
        isInvalid={check.state === "invalid"}
      />
      {isSaving && (
        <SaveDialog
          stored={stored}
          draft={draft}
          onSaved={() => {
            unsaved.value = null;
            reload();
          }}
          onClose={() => setSaving(false)}
        />
      )}
    </Panel>
  );
};

export const SettingsConfig = () => {
  const { data, error, reload } = useLoad("config", readConfig);
  return (
    <SettingsPage>
      <LoadState data={data} error={error} retry={reload} what="the config" />
      {data !== null && <Editor newest={data} reload={reload} />}
    </SettingsPage>
  );
};
