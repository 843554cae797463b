import { withoutMargin } from "./margin.ts";
import type { ProjectDatabase } from "./project_database.ts";

/** What a template adds to the configuration. */
export interface ConfigParts {
  /** Lines of `infra.environment`. */
  readonly environment: readonly string[];
  /** Lines of `infra`. */
  readonly infra: readonly string[];
  /**
   * Settings of the stages.
   * @default "{ dev: {}, prod: {} }"
   */
  readonly stages?: string;
  /** Budgets of `build`, in bytes. */
  readonly budgets: string;
}

/**
 * Renders the configuration of a new project.
 *
 * @param name The project name; it is a literal, so that resources keep their names if the folder
 * is renamed.
 * @param parts What the template adds.
 * @param database The database that it is deployed to.
 * @param withCi True if roles of a workflow deploy the project.
 */
export function renderConfig(
  name: string,
  parts: ConfigParts,
  database: ProjectDatabase,
  withCi: boolean,
): string {
  const boundary = withCi
    ? [
      "// infra-ci/ creates this policy: its roles cannot create others without it",
      `permissionsBoundary: "${name}-functions",`,
    ]
    : [];
  const environment = [
    `SERVICE_NAME: "${name}",`,
    "// 8 metrics for the service, instead of 3 for each operation and each query",
    'METRICS_DIMENSIONS: "service",',
    ...parts.environment,
  ];
  const infra = [
    `projectName: "${name}",`,
    ...boundary,
    "environment: {",
    ...environment.map((line) => `  ${line}`),
    "},",
    ...database.infra,
    ...parts.infra,
    '// region: "eu-central-1",',
    "// each stage has its own state. The first stage of an account and region:",
    "// dev: { variables: { manage_api_gateway_account: true } }",
    `stages: ${parts.stages ?? "{ dev: {}, prod: {} }"},`,
    '// state: { bucket: "your-state-bucket", region: "eu-central-1" },',
  ];
  const build = [
    "// functions load zod only for values that do not fit their schemas",
    "precompile: true,",
    "// maximum bundle size in bytes, checked by trellis build --check",
    `budgets: ${parts.budgets},`,
  ];
  return withoutMargin(`|import { defineConfig } from "@trellis/fn/cli";
|
|export default defineConfig({
|  infra: {
${infra.map((line) => `|    ${line}\n`).join("")}|  },
|  build: {
${build.map((line) => `|    ${line}\n`).join("")}|  },
|});
`);
}
