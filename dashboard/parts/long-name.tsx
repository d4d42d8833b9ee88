// A name that is read whole in a narrow column: a line ends after a dot or a slash of it rather than inside a word.

import { Fragment } from "preact";

const PARTS = /(?<=[./:@_])/;

export const LongName = ({ name }: { name: string }) => (
  <>
    {name.split(PARTS).map((part, at) => (
      <Fragment key={at}>
        {at > 0 && <wbr />}
        {part}
      </Fragment>
    ))}
  </>
);
