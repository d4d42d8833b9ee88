// An unknown address, or one that this role may not see.

import { Empty, Page } from "../parts/page.tsx";

export const NotFound = () => (
  <Page title="No such page">
    <Empty title="There is nothing at this address.">
      It may be mistyped, or your key's role may not see it. <a href="#/">Go to the overview</a>.
    </Empty>
  </Page>
);
