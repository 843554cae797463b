import { renderCiRole } from "./ci_role.ts";
import { withoutMargin } from "./margin.ts";
import {
  type DatabaseName,
  getProjectCommands,
  type PackageManager,
  type ProjectRuntime,
} from "./project_choices.ts";

/** The files of continuous deployment: the workflow, and its Terraform. */
export const CI_PATHS = [".github/workflows/deploy.yml", "infra-ci/main.tf"] as const;

/** Options of {@link ciFiles}. */
export interface CiOptions {
  /**
   * What installs the packages of a Node.js project.
   * @default "npm"
   */
  readonly manager?: PackageManager;
  /**
   * The database that the project is deployed to.
   * @default one by its address
   */
  readonly database?: DatabaseName;
}

/**
 * Returns the files of continuous deployment from GitHub: a workflow, and the Terraform of its role and
 * of the bucket with the states.
 *
 * @param runtime The local runtime.
 * @returns Contents by path.
 */
export function ciFiles(
  name: string,
  runtime: ProjectRuntime,
  { manager = "npm", database }: CiOptions = {},
): Record<string, string> {
  const [workflow, role] = CI_PATHS;
  const { installLocked, run, trellis } = getProjectCommands(runtime, manager);
  return {
    [workflow]: renderWorkflow(run, {
      project: name,
      setup: `${CHECKOUT}${RUNTIME_ACTIONS[runtime]}|      - run: ${installLocked}\n`,
      trellis,
      hasAddress: database !== "aurora-dsql",
    }),
    [role]: renderCiRole(name),
  };
}

/** Actions by commit: a tag can be moved to other code. */
const ACTIONS = {
  checkout: "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1",
  node: "actions/setup-node@820762786026740c76f36085b0efc47a31fe5020 # v7.0.0",
  tofu: "opentofu/setup-opentofu@a1320f892987e89d278cc92dc5adc984fb93aca4 # v2.0.2",
  deno: "denoland/setup-deno@667a34cdef165d8d2b2e98dde39547c9daac7282 # v2.0.4",
  aws: "aws-actions/configure-aws-credentials@e6de054238d6b7531b4efff3b6587d9aade6a06c # v6.2.3",
} as const;

const CHECKOUT = `|      - uses: ${ACTIONS.checkout}
|        with:
|          persist-credentials: false
`;

const RUNTIME_ACTIONS: Readonly<Record<ProjectRuntime, string>> = {
  node: `|      - uses: ${ACTIONS.node}
|        with:
|          node-version: 24
`,
  deno: `|      - uses: ${ACTIONS.deno}
|        with:
|          deno-version: 2.9.6
`,
};

const REPOSITORY_BRANCH = "github.event.pull_request.head.repo.full_name == github.repository";
/** Pull requests from the repository itself; those from forks get no token for AWS. */
const PULL_REQUEST =
  `github.event_name == 'pull_request' && github.event.action != 'closed' && ${REPOSITORY_BRANCH}`;
const PUSH = "github.event_name == 'push'";
const HAS_PREVIEWS = "vars.PREVIEWS == 'true'";

interface Job {
  readonly name: string;
  readonly when: string;
  readonly needs?: string;
  readonly environment: string;
  readonly concurrency?: string;
  /** Further permissions of its token. */
  readonly permissions?: string;
  /** The last step. */
  readonly step: (surroundings: JobSurroundings) => string;
}

function runTrellis(command: string): Job["step"] {
  const migrates = command.startsWith("deploy ") && !command.includes("--plan");
  return ({ trellis, hasAddress }) =>
    `|      - run: ${trellis} ${command}
|        env:
|          TF_VAR_region: \${{ vars.AWS_REGION }}
${migrates && hasAddress ? "|          DATABASE_URL: ${{ secrets.DATABASE_URL }}\n" : ""}${
      command.includes("$PREVIEW") ? "|          PREVIEW: preview-${{ github.event.number }}\n" : ""
    }`;
}

const JOBS: readonly Job[] = [
  {
    name: "plan",
    when: PULL_REQUEST,
    needs: "check",
    environment: "plan",
    step: runTrellis("deploy --stage prod --plan"),
  },
  {
    name: "preview",
    when: `${HAS_PREVIEWS} && ${PULL_REQUEST}`,
    needs: "check",
    environment: "preview",
    step: runTrellis('deploy --stage "$PREVIEW" --yes --allow-destroy --generate-secrets'),
  },
  {
    name: "close",
    when: `${HAS_PREVIEWS} && github.event.action == 'closed' && ${REPOSITORY_BRANCH}`,
    environment: "preview",
    step: runTrellis('destroy --stage "$PREVIEW" --confirm "$PREVIEW"'),
  },
  {
    name: "sweep",
    when: `${HAS_PREVIEWS} && github.event_name == 'schedule'`,
    environment: "preview",
    permissions: "|      pull-requests: read # to see which are closed\n",
    step: renderSweep,
  },
  {
    name: "dev",
    when: PUSH,
    needs: "check",
    environment: "dev",
    concurrency: "dev",
    step: runTrellis("deploy --stage dev --yes"),
  },
  {
    name: "prod",
    when: PUSH,
    needs: "dev",
    environment: "prod",
    concurrency: "prod",
    step: runTrellis("deploy --stage prod --yes"),
  },
];

/** Destroys the previews of closed pull requests by their states; a state is deleted with its preview. */
function renderSweep({ trellis, project }: JobSurroundings): string {
  return `|      - shell: bash
|        run: |
|          keys=$(aws s3api list-objects-v2 --bucket "$STATE_BUCKET" --prefix "${project}/preview-" --query 'Contents[].Key' --output text)
|          failed=0
|          for number in $(tr '\\t' '\\n' <<< "$keys" | sed -nE 's#^${project}/preview-([0-9]+)\\.tfstate$#\\1#p'); do
|            state=$(gh pr view "$number" --json state --jq .state)
|            if [ "$state" = OPEN ]; then continue; fi
|            preview="preview-$number"
|            if ${trellis} destroy --stage "$preview" --confirm "$preview"; then
|              aws s3api delete-object --bucket "$STATE_BUCKET" --key "${project}/$preview.tfstate"
|            else
|              failed=1
|            fi
|          done
|          exit "$failed"
|        env:
|          GH_TOKEN: \${{ github.token }}
|          STATE_BUCKET: \${{ vars.STATE_BUCKET }}
|          TF_VAR_region: \${{ vars.AWS_REGION }}
`;
}

function renderWorkflow(run: string, surroundings: JobSurroundings): string {
  const address = surroundings.hasAddress ? ADDRESS_NOTE : "";
  return withoutMargin(`|name: deploy
|# Needs the environments plan, dev and prod with the variables AWS_REGION and AWS_DEPLOY_ROLE (outputs of
|# infra-ci/). Let prod require a review, and dev and prod accept the branch main only.
${address}|#
|# A pull request runs its own code, also in this file, with the roles of plan and preview: plan reads the
|# configuration and the state of prod, preview belongs to an account that has no other stage. For previews
|# set the variable PREVIEWS of the repository to true, and add the environment preview with AWS_REGION,
|# AWS_DEPLOY_ROLE and STATE_BUCKET.
|on:
|  push:
|    branches: [main]
|  pull_request:
|    types: [opened, synchronize, reopened, closed]
|  schedule:
|    - cron: "17 3 * * *"
|# One run of a pull request at a time: a preview is destroyed after the deployment of the last push.
|concurrency:
|  group: deploy-\${{ github.event.number || github.run_id }}
|permissions: {}
|jobs:
|  check:
|    if: github.event_name != 'schedule' && github.event.action != 'closed'
|    runs-on: ubuntu-latest
|    timeout-minutes: 20
|    permissions:
|      contents: read
|    steps:
${surroundings.setup}|      - run: ${run} ci
${JOBS.map((job) => renderJob(job, surroundings)).join("")}`);
}

const ADDRESS_NOTE =
  `|# The secret DATABASE_URL of dev and prod is the address of the database, for a user who may create tables.
|# Aurora DSQL needs none, nor does a project with a migration function.
`;

const COMMENTS: Readonly<Record<string, string>> = {
  sweep:
    "|  # GitHub runs nothing for a pull request with a merge conflict, so that close may be missing.\n",
};

/** What the jobs of one workflow share. */
interface JobSurroundings {
  readonly project: string;
  /** Steps that check the repository out and install its packages. */
  readonly setup: string;
  readonly trellis: string;
  /** True if migrations are applied to the database in the secret `DATABASE_URL` of the environment. */
  readonly hasAddress: boolean;
}

function renderJob(
  { name, when, needs, environment, concurrency, permissions = "", step }: Job,
  surroundings: JobSurroundings,
): string {
  const optional = Object.entries({ needs, concurrency }).filter(([, value]) =>
    value !== undefined
  );
  const settings = [["environment", environment], ...optional];
  return `${COMMENTS[name] ?? ""}|  ${name}:
|    if: ${when}
${settings.map(([key, value]) => `|    ${key}: ${value}\n`).join("")}|    runs-on: ubuntu-latest
|    timeout-minutes: 60
|    permissions:
|      contents: read
|      id-token: write # a short-lived token for AWS: there are no keys
${permissions}|    steps:
${surroundings.setup}|      - uses: ${ACTIONS.tofu}
|        with:
|          tofu_version: 1.12.6
|          tofu_wrapper: false
|      - uses: ${ACTIONS.aws}
|        with:
|          role-to-assume: \${{ vars.AWS_DEPLOY_ROLE }}
|          aws-region: \${{ vars.AWS_REGION }}
${step(surroundings)}`;
}
