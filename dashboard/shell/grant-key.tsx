// A program on this machine (`signalbox login`) asks for a key of the person: one click of consent. The code goes to a
// loopback address only, and is worth nothing without the secret that only the program knows.

import { useState } from "preact/hooks";
import { printable } from "../../contract/text/printable.ts";
import { api } from "../api.ts";
import { Empty, Page, Panel } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import { place } from "../router.ts";
import { isPerson, session } from "../state/session.ts";

const MAX_NAME_CHARS = 80;
const TITLE = "Sign in a program";

const askedHere = () => {
  const { query } = place.peek();
  const port = Number(query.get("port"));
  const [name, challenge, state] = [query.get("name"), query.get("challenge"), query.get("state")];
  const isPort = Number.isInteger(port) && port > 0 && port < 65_536;
  // The link may be anybody's: its words stay a name.
  return isPort && name && challenge && state
    ? { port, name: printable(name).slice(0, MAX_NAME_CHARS), challenge, state }
    : null;
};

export const GrantKey = () => {
  const [asked] = useState(askedHere);
  const [error, setError] = useState<Error | null>(null);
  if (asked === null)
    return (
      <Page title={TITLE}>
        <Empty title="This link is not complete: run signalbox login again" />
      </Page>
    );
  const { port, name, challenge, state } = asked;
  const agree = async (): Promise<void> => {
    try {
      const { code } = await api.signIn.grantKey({ name: `signalbox on ${name}`.slice(0, 100), challenge });
      location.assign(`http://127.0.0.1:${port}/?${new URLSearchParams({ code, state })}`);
    } catch (refused) {
      setError(refused as Error);
    }
  };
  return (
    <Page title={TITLE}>
      <Panel>
        <p>
          The command line of <strong>{name}</strong> asks for a key of yours in the tenant{" "}
          <strong>{session.value?.tenant}</strong>, with your role. Agree only if you have just run{" "}
          <code>signalbox login</code> there.
        </p>
        {!isPerson.value && (
          <p class="verdict verdict-caution">
            You are signed in with a key. Sign in with your organisation's identity first.
          </p>
        )}
        <Problem error={error} />
        <button type="button" class="button primary" disabled={!isPerson.value} onClick={agree}>
          Give it a key
        </button>
      </Panel>
    </Page>
  );
};
