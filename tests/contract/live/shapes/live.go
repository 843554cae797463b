// Calls the shapes project with the generated client: live <url> <token>
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"reflect"
	"time"

	client "github.com/GIT_USER_ID/GIT_REPO_ID"
)

const tenant = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"

func check(isRight bool, what ...any) {
	if !isRight {
		panic(fmt.Sprint(what...))
	}
}

func main() {
	settings := client.NewConfiguration()
	settings.Servers = client.ServerConfigurations{{URL: os.Args[1]}}
	api := client.NewAPIClient(settings)
	ctx := context.Background()

	bytes := make([]byte, 256)
	for i := range bytes {
		bytes[i] = byte(i)
	}
	file, err := os.CreateTemp("", "shapes")
	check(err == nil, err)
	defer os.Remove(file.Name())
	file.Write(bytes)
	file.Seek(0, 0)
	made, _, err := api.FilesAPI.UploadFile(ctx).File(file).Note("größe").Tags([]string{"a", "b"}).Execute()
	check(err == nil && made.Bytes == 256 && made.Sum == 32640 && made.Note == "größe" && len(made.Tags) == 2, err, made)
	part, _, err := api.FilesAPI.DownloadFile(ctx, "a b").Range_("bytes=1-3").Execute()
	check(err == nil, err)
	text, _ := io.ReadAll(part)
	check(string(text) == "\x01\x02\x03", text)

	// the generator leaves out cookies
	found, _, err := api.SearchAPI.Search(ctx).XTenant(tenant).Tag([]string{"x y", "a&b"}).Color(client.Color("1st")).
		Limit(5).From("2026-02-03").Exact("yes").XRank("high").Execute()
	check(err == nil && found.Exact && found.Limit == 5 && *found.From == "2026-02-03" && *found.Rank == "high", err, found)
	check(reflect.DeepEqual(found.Tag, []string{"x y", "a&b"}), found)
	_, _, err = api.SearchAPI.Search(ctx).XTenant(tenant).Limit(100).Execute()
	problem := err.(*client.GenericOpenAPIError).Model().(client.Problem)
	check(problem.Code == "TOO_MANY" && problem.Limit == 99, problem)

	given := *client.NewValues("ä", "2026-02-03", time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC), 1<<53-1, 0.1, false,
		client.DARK_BLUE, *client.NewNullableString(nil), map[string]int64{"a": 1}, [][]int64{{1}, {}},
		client.CircleAsShape(client.NewCircle("circle", 1.5)),
		[]client.Shape{client.BallAsShape(client.NewBall("ball", 2)), client.SquareAsShape(client.NewSquare("square", 3))},
		*client.NewComment("a", []client.Comment{*client.NewComment("b", []client.Comment{})}))
	values, response, err := api.ValuesAPI.PutValues(ctx, 12).Values(given).Execute()
	check(err == nil, err)
	check(reflect.DeepEqual(values.Shapes, given.Shapes) && reflect.DeepEqual(values.Shape, given.Shape), values)
	check(values.Ratio == 0.1 && values.Count == given.Count && values.At.Equal(given.At), values)
	check(reflect.DeepEqual(values.Thread, given.Thread) && values.Note.Get() == nil, values)
	check(response.Header.Get("x-value") == "12", response.Header)
	changes, _, err := api.ValuesAPI.PatchValues(ctx, 12).Changes(client.Changes{Note: *client.NewNullableString(nil)}).Execute()
	check(err == nil && changes.Note.IsSet() && changes.Note.Get() == nil && changes.Text == nil, err, changes)
	_, err = api.ValuesAPI.RemoveValues(ctx, 12).Execute()
	check(err == nil, err)
	fmt.Println("called")
}
