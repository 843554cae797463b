import { defineApiHandler } from "../../../../../../validation/mod.ts";

export const handler = defineApiHandler({})(function readLedger(): never {
  throw new Error("the ledger is closed", { cause: new TypeError("no key") });
});
