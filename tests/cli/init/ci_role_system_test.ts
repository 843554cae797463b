/** The Terraform of the workflow's roles, with Terraform and the stand-in providers beside the project. */
import { assert } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ciFiles } from "../../../cli/init/ci_files.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

const OFFLINE = fileURLToPath(
  new URL("../../../../shared/terraform-offline/bin/tf-offline", import.meta.url),
);

const TESTS = `
mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_resource "aws_s3_bucket" {
    defaults = { arn = "arn:aws:s3:::states", id = "states" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/role" }
  }
  mock_resource "aws_iam_policy" {
    defaults = { arn = "arn:aws:iam::123456789012:policy/boundary" }
  }
  mock_resource "aws_iam_openid_connect_provider" {
    defaults = { arn = "arn:aws:iam::123456789012:oidc-provider/github" }
  }
}
variables {
  repository = "owner/my-api"
  region     = "eu-central-1"
}
run "prod" {
  variables { preview_account = "210987654321" }
  assert {
    condition     = keys(aws_iam_role.deploy) == ["dev", "plan", "prod"] && keys(aws_iam_role_policy_attachment.resources) == ["dev", "prod"]
    error_message = "There must be no preview here, and only dev and prod may change resources."
  }
  assert {
    condition     = [for role in aws_iam_role.deploy : lookup(jsondecode(role.assume_role_policy).Statement[0].Condition.StringEquals, "token.actions.githubusercontent.com:ref", "any")] == ["refs/heads/main", "any", "refs/heads/main"]
    error_message = "dev and prod must be bound to the branch."
  }
  assert {
    condition     = jsondecode(aws_s3_bucket_policy.previews[0].policy).Statement[0].Resource == "arn:aws:s3:::states/my-api/preview-*"
    error_message = "Previews must reach their own states only."
  }
}
run "preview" {
  variables {
    environments = ["preview"]
    state_bucket = "states"
  }
  assert {
    condition     = length(aws_s3_bucket.state) == 0 && keys(aws_iam_role.deploy) == ["preview"] && output.state_bucket == "states" && length(aws_api_gateway_account.this) == 1
    error_message = "The account of previews must have its role, and that of the gateway's logs."
  }
}
run "preview_beside_prod" {
  command = plan
  variables {
    environments = ["preview", "prod"]
    state_bucket = "states"
  }
  expect_failures = [var.environments]
}
`;

Deno.test({
  name: "ciFiles() returns roles that bind dev and prod to main, and previews to their own account",
  ignore: !await Deno.stat(OFFLINE).then(() => true, () => false),
  async fn() {
    await withTempFolder({}, async (folder) => {
      await Deno.mkdir(join(folder, "tests"));
      await Deno.writeTextFile(
        join(folder, "main.tf"),
        ciFiles("my-api", "node")["infra-ci/main.tf"],
      );
      await Deno.writeTextFile(join(folder, "tests/roles.tftest.hcl"), TESTS);
      const { success, stdout, stderr } = await new Deno.Command(OFFLINE, {
        args: ["check", folder],
      }).output();
      const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
      assert(success && text.includes("3 passed"), text);
    });
  },
});
