// A secret that is shown once. It exists only in this dialog, which therefore needs a deliberate close.

import { useEffect } from "preact/hooks";
import { Dialog } from "../parts/dialog.tsx";
import { copy } from "../parts/text-block.tsx";

interface SecretProps {
  title: string;
  secret: string;
  /** What it is for; that it is shown once is always said. */
  note?: string;
  onClose: () => void;
}

/** The browser asks before it closes the page. */
const askFirst = (event: Event): void => event.preventDefault();

export const SecretDialog = ({ title, secret, note, onClose }: SecretProps) => {
  useEffect(() => {
    addEventListener("beforeunload", askFirst);
    return () => removeEventListener("beforeunload", askFirst);
  }, []);
  return (
    <Dialog title={title} onClose={onClose} isKeptOpen>
      <p>Copy it now: it is not shown again.{note === undefined ? "" : ` ${note}`}</p>
      <p class="secret">
        <code>{secret}</code>
      </p>
      <div class="dialog-foot">
        <button type="button" class="button" onClick={() => copy(secret)}>
          Copy
        </button>
        <button type="button" class="button primary" onClick={onClose}>
          I have saved it
        </button>
      </div>
    </Dialog>
  );
};
