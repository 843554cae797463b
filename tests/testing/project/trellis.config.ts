import type { TrellisConfig } from "../../../cli/mod.ts";

export default {
  functionNames: { "standalone/double.ts": "Twice" },
  infra: { api: { headRoutes: true }, functions: { Echo: { twoWay: true } } },
} satisfies TrellisConfig;
