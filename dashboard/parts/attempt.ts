// Work that may be refused, for one form: nothing is sent twice, and the refusal stands until the form is left.

import { useState } from "preact/hooks";

export const useAttempt = () => {
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  /** Work that succeeds leaves the form: it stays busy. */
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    try {
      await work();
    } catch (refused) {
      setError(refused as Error);
      setBusy(false);
    }
  };
  return { error, isBusy, attempt, setError };
};
