// A secret that is shown once. It exists only in this dialog.

import { Dialog } from "../parts/dialog.tsx";
import { copy } from "../parts/text-block.tsx";

interface SecretProps {
  title: string;
  secret: string;
  /** What it is for; that it is shown once is always said. */
  note?: string;
  onClose: () => void;
}

export const SecretDialog = ({ title, secret, note, onClose }: SecretProps) => (
  <Dialog title={title} onClose={onClose}>
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
