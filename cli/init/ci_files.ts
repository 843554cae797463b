import { renderCiRole } from "./ci_role.ts";
import { withoutMargin } from "./margin.ts";
import type { ProjectRuntime } from "./project_runtime.ts";

/**
 * Returns the files of continuous deployment from GitHub: a workflow, and the Terraform of its role and
 * of the bucket with the states.
 *
 * @param runtime The local runtime.
 * @returns Contents by path.
 */
export function ciFiles(name: string, runtime: ProjectRuntime): Record<string, string> {
  return {
    ".github/workflows/deploy.yml": renderWorkflow(runtime),
    "infra-ci/main.tf": renderCiRole(name),
  };
}

const SETUP: Readonly<Record<ProjectRuntime, string>> = {
  node: `|      - uses: actions/setup-node@820762786026740c76f36085b0efc47a31fe5020 # v7.0.0
|        with:
|          node-version: 24
|      - run: npm ci
`,
  deno: `|      - uses: actions/setup-node@820762786026740c76f36085b0efc47a31fe5020 # v7.0.0
|        with:
|          node-version: 24
|      - run: npm install --global deno@2.9.6
|      - run: deno ci
`,
};

const COMMANDS: Readonly<Record<ProjectRuntime, { ci: string; trellis: string }>> = {
  node: { ci: "npm run ci", trellis: "npx trellis" },
  deno: { ci: "deno task ci", trellis: "deno task trellis" },
};

const REPOSITORY_BRANCH = "github.event.pull_request.head.repo.full_name == github.repository";
/** Pull requests from the repository itself; those from forks get no token for AWS. */
const PULL_REQUEST =
  `github.event_name == 'pull_request' && github.event.action != 'closed' && ${REPOSITORY_BRANCH}`;
const PUSH = "github.event_name == 'push'";
const PREVIEW = "preview-${{ github.event.number }}";

interface Job {
  readonly name: string;
  readonly when: string;
  readonly needs?: string;
  readonly environment: string;
  readonly concurrency?: string;
  /** Arguments of `trellis`. */
  readonly command: string;
}

const JOBS: readonly Job[] = [
  {
    name: "plan",
    when: PULL_REQUEST,
    needs: "check",
    environment: "plan",
    command: "deploy --stage prod --plan",
  },
  {
    name: "preview",
    when: PULL_REQUEST,
    needs: "plan",
    environment: "preview",
    concurrency: PREVIEW,
    command: `deploy --stage ${PREVIEW} --yes --allow-destroy --generate-secrets`,
  },
  {
    name: "close",
    when: `github.event.action == 'closed' && ${REPOSITORY_BRANCH}`,
    environment: "preview",
    concurrency: PREVIEW,
    command: `destroy --stage ${PREVIEW} --confirm ${PREVIEW}`,
  },
  {
    name: "dev",
    when: PUSH,
    needs: "check",
    environment: "dev",
    concurrency: "dev",
    command: "deploy --stage dev --yes",
  },
  {
    name: "prod",
    when: PUSH,
    needs: "dev",
    environment: "prod",
    concurrency: "prod",
    command: "deploy --stage prod --yes",
  },
];

function renderWorkflow(runtime: ProjectRuntime): string {
  return withoutMargin(`|name: deploy
|# Needs the environments plan, preview, dev and prod with the variables AWS_REGION and AWS_DEPLOY_ROLE
|# (outputs of infra-ci/). Let prod require a review.
|on:
|  push:
|    branches: [main]
|  pull_request:
|    types: [opened, synchronize, reopened, closed]
|permissions:
|  contents: read
|  id-token: write # a short-lived token for AWS: there are no keys
|jobs:
|  check:
|    if: github.event.action != 'closed'
|    runs-on: ubuntu-latest
|    timeout-minutes: 20
|    permissions:
|      contents: read
|    steps:
|      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
${SETUP[runtime]}|      - run: ${COMMANDS[runtime].ci}
${JOBS.map((job) => renderJob(job, runtime)).join("")}`);
}

function renderJob(
  { name, when, needs, environment, concurrency, command }: Job,
  runtime: ProjectRuntime,
): string {
  const optional = Object.entries({ needs, concurrency }).filter(([, value]) =>
    value !== undefined
  );
  const settings = [["environment", environment], ...optional];
  return `|  ${name}:
|    if: ${when}
${settings.map(([key, value]) => `|    ${key}: ${value}\n`).join("")}|    runs-on: ubuntu-latest
|    timeout-minutes: 60
|    steps:
|      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
${SETUP[runtime]}|      - uses: opentofu/setup-opentofu@v1
|        with:
|          tofu_wrapper: false
|      - uses: aws-actions/configure-aws-credentials@v4
|        with:
|          role-to-assume: \${{ vars.AWS_DEPLOY_ROLE }}
|          aws-region: \${{ vars.AWS_REGION }}
|      - run: ${COMMANDS[runtime].trellis} ${command}
|        env:
|          TF_VAR_region: \${{ vars.AWS_REGION }}
`;
}
