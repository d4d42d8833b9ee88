// Signing in: with the organisation's identity where the tenant offers that, or with a key. The key is sent to the
// coordinator once and not stored in the browser.

import { useEffect, useState } from "preact/hooks";
import type { SessionAnswer } from "../../contract/access/session.ts";
import type { SignInOffer } from "../../contract/access/sign-in.ts";
import { whileAway } from "../../contract/client/while-away.ts";
import { printable } from "../../contract/text/printable.ts";
import { api } from "../api.ts";
import { useAttempt } from "../parts/attempt.ts";
import { Lamp } from "../parts/lamp.tsx";
import { Problem } from "../parts/problem.tsx";
import { startAddress, tenantToOffer } from "../state/identity.ts";
import {
  acceptOfferedKey,
  declineOfferedKey,
  isPerson,
  offeredKey,
  session,
  signIn,
  signInNote,
  signOut,
} from "../state/session.ts";

const WrongRole = ({ who: { name, role } }: { who: SessionAnswer }) => {
  const [error, setError] = useState<Error | null>(null);
  return (
    <>
      <p>
        The key “{printable(name)}” has the role <strong>{role}</strong>: it runs jobs, but cannot open the dashboard.
        Sign in with a key whose role is admin, standard or viewer.
      </p>
      <Problem error={error} />
      <button type="button" class="button primary" onClick={() => signOut().catch(setError)}>
        Use another key
      </button>
    </>
  );
};

const KeyForm = ({ isSecond }: { isSecond: boolean }) => {
  const [key, setKey] = useState("");
  const { error, isBusy, attempt } = useAttempt();
  const says = error?.message ?? (isSecond ? null : signInNote.value);
  const submit = (event: Event): Promise<void> => {
    event.preventDefault();
    return attempt(() => signIn(key));
  };
  return (
    <form onSubmit={submit}>
      <div class="field">
        <label for="key">Key</label>
        <input
          id="key"
          type="password"
          autocomplete="off"
          autofocus={!isSecond}
          required
          value={key}
          aria-describedby="key-says"
          aria-invalid={says !== null}
          onInput={(event) => setKey(event.currentTarget.value)}
        />
        <p id="key-says" class={says === null ? "hint" : "field-error"} role={says === null ? undefined : "alert"}>
          {says ??
            "A key with role admin, standard or viewer. The first admin key is in default.admin.key in a server's data folder; on Cloudflare it is in the answer of POST /admin/tenants."}
        </p>
      </div>
      <button type="submit" class={isSecond ? "button" : "button primary"} disabled={isBusy || key.trim() === ""}>
        Sign in
      </button>
    </form>
  );
};

/** Who is signed in, and whether to replace them by a key that came with the address. */
const OfferedKey = () => (
  <>
    <p>
      This link contains another key. You are signed in to <strong>{session.value?.tenant}</strong>{" "}
      {isPerson.value ? `as ${session.value?.name}` : `with the key “${session.value?.name}”`}. Go on with the other key
      only if you trust where the address came from.
    </p>
    <div class="actions">
      <button type="button" class="button primary" autofocus onClick={declineOfferedKey}>
        Stay signed in
      </button>
      <button type="button" class="button" onClick={acceptOfferedKey}>
        Sign out and use the other key
      </button>
    </div>
  </>
);

/** The identity provider first, the key below it; the key alone where there is none. */
const Ways = () => {
  const [tenant, setTenant] = useState(tenantToOffer());
  const [offer, setOffer] = useState<SignInOffer | null | undefined>(undefined);
  useEffect(() => {
    const abort = new AbortController();
    const { signal } = abort;
    const withoutOffer = (): void => setOffer(null);
    whileAway(() => api.signIn.offer(tenant, { signal }), { signal, onAway: withoutOffer }).then(
      setOffer,
      () => signal.aborted || withoutOffer(),
    );
    return () => abort.abort();
  }, [tenant]);
  if (offer === undefined) return <p role="status">Connecting …</p>;
  const isOffered = offer !== null && (offer.oidc !== null || offer.jwt_header);
  return (
    <>
      {isOffered && (
        <>
          {signInNote.value !== null && <p role="alert">{signInNote.value}</p>}
          <a class="button primary" href={startAddress(offer.tenant)}>
            Sign in with {offer.oidc?.name ?? "your organisation"}
          </a>
        </>
      )}
      {offer?.keys_sign_in !== false && <KeyForm isSecond={isOffered} />}
      <OtherTenant tenant={tenant} onChoose={setTenant} />
    </>
  );
};

const OtherTenant = ({ tenant, onChoose }: { tenant: string; onChoose: (tenant: string) => void }) => {
  const [name, setName] = useState(tenant);
  const choose = (event: Event): void => {
    event.preventDefault();
    onChoose(name);
  };
  return (
    <details>
      <summary>Sign in to another tenant</summary>
      <form onSubmit={choose} class="field">
        <label for="tenant">Tenant</label>
        <input
          id="tenant"
          required
          pattern="[a-z0-9][a-z0-9\-]*"
          maxLength={63}
          autocapitalize="off"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <button type="submit" class="button">
          Show its ways to sign in
        </button>
      </form>
    </details>
  );
};

const Form = () => {
  if (offeredKey.value !== null) return <OfferedKey />;
  return session.value ? <WrongRole who={session.value} /> : <Ways />;
};

export const SignIn = () => {
  useEffect(() => {
    document.title = "Sign in · Signalbox";
  }, []);
  return (
    <main class="sign-in">
      <div class="sign-in-signal" aria-hidden="true">
        <Lamp aspect="stop" />
        <Lamp aspect="caution" />
        <Lamp aspect="clear" isLit />
      </div>
      <div class="sign-in-panel">
        <h1 class="nameboard">Signalbox</h1>
        <Form />
        <p class="hint">
          The API is documented at <a href="/docs">/docs</a>.
        </p>
      </div>
    </main>
  );
};
