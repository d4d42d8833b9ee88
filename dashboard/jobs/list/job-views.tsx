// The named views of the jobs page: those that everyone has, and those saved in this browser.

import { useEffect, useState } from "preact/hooks";
import { Confirm } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { place } from "../../router.ts";
import { useDraft } from "../../state/drafts.ts";
import { forgetView, GIVEN_VIEWS, readViews, savedViews, saveView, type View } from "./saved-views.ts";

const viewInAddress = (): string => {
  const kept = [...place.value.query].filter(([name]) => name !== "offset" && name !== "cursor");
  return new URLSearchParams(kept).toString();
};

const SaveDialog = ({ query, onClose }: { query: string; onClose: () => void }) => {
  const [name, setName] = useDraft("view: name", "");
  return (
    <Confirm
      title="Save this view"
      action="Save"
      isReady={name.trim() !== ""}
      onConfirm={async () => saveView({ name: name.trim(), query })}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint="Saved in this browser. The page's address also contains the view: send it to a colleague."
        value={name}
        onInput={setName}
        isRequired
        autoFocus
      />
    </Confirm>
  );
};

const ViewLink = ({ view, isHere }: { view: View; isHere: boolean }) => (
  <a href={`#/jobs?${view.query}`} aria-current={isHere ? "true" : undefined}>
    {view.name}
  </a>
);

export const JobViews = () => {
  const [isSaving, setSaving] = useState(false);
  useEffect(readViews, []);
  const here = viewInAddress();
  const isKnown = [...GIVEN_VIEWS, ...savedViews.value].some(({ query }) => query === here);
  return (
    <nav class="views" aria-label="Views">
      <ul>
        {GIVEN_VIEWS.map((view) => (
          <li key={view.name}>
            <ViewLink view={view} isHere={view.query === here} />
          </li>
        ))}
        {savedViews.value.map((view) => (
          <li key={view.name}>
            <ViewLink view={view} isHere={view.query === here} />
            <button
              type="button"
              class="icon-button"
              aria-label={`Delete the view ${view.name}`}
              onClick={() => forgetView(view.name)}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
      {here !== "" && !isKnown && (
        <button type="button" class="button small quiet" onClick={() => setSaving(true)}>
          Save this view
        </button>
      )}
      {isSaving && <SaveDialog query={here} onClose={() => setSaving(false)} />}
    </nav>
  );
};
