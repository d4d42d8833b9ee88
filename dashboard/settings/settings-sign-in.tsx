// How people sign in: the config as JSON, a test that changes nothing, and the last attempts with what the identity
// provider said.

import { useState } from "preact/hooks";
import type { AttemptResource, SignInInput, SignInResource } from "../../contract/access/sign-in.ts";
import { api } from "../api.ts";
import { Empty, LoadState, Panel } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { startAddress } from "../state/identity.ts";
import { useLoad } from "../state/load.ts";
import { tell } from "../state/notice.ts";
import { session } from "../state/session.ts";
import { CodeEditor } from "./code-editor.tsx";
import { SettingsPage } from "./settings-tabs.tsx";

const EXAMPLE: SignInInput = {
  oidc: {
    issuer: "https://id.example.com/realms/acme",
    client_id: "signalbox",
    client_secret: "from the identity provider",
    name: "Acme",
    scopes: ["openid", "email", "profile"],
  },
  roles: [
    { claim: "groups", has: "ml-admins", role: "admin" },
    { claim: "email", matches: "*@acme.com", role: "viewer" },
  ],
};

/** As it is sent back: a secret that is left out stays. */
const textOf = ({ redirect_uri: _, from, oidc, ...rest }: SignInResource): string => {
  if (from === "none") return JSON.stringify(EXAMPLE, null, 2);
  const { has_client_secret: __, ...shown } = oidc ?? { has_client_secret: false };
  return JSON.stringify({ ...(oidc === null ? {} : { oidc: shown }), ...rest }, null, 2);
};

const readJson = (text: string): SignInInput => {
  try {
    return JSON.parse(text) as SignInInput;
  } catch (error) {
    throw new Error(`This is no JSON: ${(error as Error).message}`);
  }
};

const SECRET_TEXT = "The client secret is stored and not shown. Left out it stays; null removes it.";

const OTHERS_CHANGE =
  "Someone else saved another config meanwhile. Copy your text, reload the page to read theirs, and repeat your change.";

const Editor = ({ stored, reload }: { stored: SignInResource; reload: () => void }) => {
  /** What the draft changes. */
  const [over, setOver] = useState(textOf(stored));
  const [draft, setDraft] = useState(over);
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const save = async (): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    try {
      const wanted = readJson(draft);
      if (textOf(await api.signIn.get()) !== over) throw new Error(OTHERS_CHANGE);
      const saved = textOf(await api.signIn.put(wanted));
      setOver(saved);
      setDraft(saved);
      setError(null);
      tell("Saved. Test it before you sign out.");
      reload();
    } catch (refused) {
      setError(refused as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Panel
      title="How people sign in"
      aside={
        <span class="actions">
          {stored.from !== "none" && (
            <a
              class="button small"
              href={startAddress(session.value?.tenant ?? "", "test")}
              target="_blank"
              rel="noopener"
            >
              Test without applying
            </a>
          )}
          <button type="button" class="button small primary" aria-disabled={isBusy} onClick={save}>
            Save
          </button>
        </span>
      }
    >
      <p class="dim">
        Register <code>{stored.redirect_uri}</code> with the identity provider as the redirect address.
        {stored.oidc?.has_client_secret === true && ` ${SECRET_TEXT}`}
        {stored.from === "deployment" && " This is the deployment's config; saving makes one of this tenant's own."}
      </p>
      <Problem error={error} />
      <CodeEditor
        name="Sign-in as JSON"
        value={draft}
        onInput={setDraft}
        isReadOnly={false}
        isInvalid={error !== null}
      />
    </Panel>
  );
};

const COLUMNS: readonly Column[] = [{ title: "When" }, { title: "Outcome" }, { title: "What the provider said" }];

const claimText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

const AttemptRow = ({ attempt: { at, outcome, rule, claims, detail } }: { attempt: AttemptResource }) => (
  <tr>
    <td class="cell-when">
      <Time at={at} as="full" />
    </td>
    <td>
      <strong>{outcome.replace("_", " ")}</strong>
      {rule !== null && (
        <span class="row-note dim">
          {rule.claim}: {rule.role}
        </span>
      )}
    </td>
    <td class="cell-main">
      {detail}
      {Object.entries(claims)
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <span key={name} class="row-note">
            <span class="dim">{name}</span> {claimText(value)}
          </span>
        ))}
    </td>
  </tr>
);

const Attempts = () => {
  const { data, error, reload } = useLoad("attempts", (signal) => api.signIn.attempts({ signal }));
  return (
    <Panel
      title="Last sign-ins"
      aside={
        <button type="button" class="button small" onClick={reload}>
          Read again
        </button>
      }
    >
      <LoadState data={data} error={error} retry={reload} what="the sign-ins" />
      {data?.attempts.length === 0 && <Empty title="Nobody has tried to sign in yet." />}
      {data !== null && data.attempts.length > 0 && (
        <Table name="Last sign-ins" columns={COLUMNS}>
          {data.attempts.map((attempt, index) => (
            <AttemptRow key={`${attempt.at} ${index}`} attempt={attempt} />
          ))}
        </Table>
      )}
    </Panel>
  );
};

export const SettingsSignIn = () => {
  const { data, error, reload } = useLoad("sign-in", (signal) => api.signIn.get({ signal }));
  return (
    <SettingsPage>
      <LoadState data={data} error={error} retry={reload} what="the config" />
      {data !== null && <Editor stored={data} reload={reload} />}
      <Attempts />
    </SettingsPage>
  );
};
