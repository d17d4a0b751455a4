"""A SavedModel of TF2 with its calls, by mouse: calls unfold in calls, a search reaches in, edits inline them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

import graphsurgeon as gs
from tests.browser.hands import answered, apply, box, fit, said, shot
from tests.widget.page import WidgetPage


def test_calls_unfold_in_place_to_the_layers_in_them(page: Any, corpus: Any) -> None:
    ed = gs.open(corpus.path("mlperf_tiny_kws"), raw=True)
    WidgetPage(page, ed.screen)
    outer = "StatefulPartitionedCall"
    inner = f"{outer}/{outer}"
    assert "call of signature_wrapper" in box(page, outer).text_content()
    box(page, outer).dblclick()
    box(page, inner).wait_for()
    assert box(page, outer).count() == 0
    fit(page)
    box(page, inner).dblclick()
    model = box(page, f"{inner}/functional_1/")
    model.wait_for()
    assert "call of _wrapped_model" in page.locator(".gs-group", has_text="wrapped_model").first.text_content()
    fit(page)
    shot(page, "calls-unfolded")
    model.dblclick()
    box(page, f"{inner}/functional_1/conv2d/").wait_for()
    fit(page)
    shot(page, "calls-layers")

    # a hit of the search is inside a call that is folded; going there unfolds it
    page.keyboard.press("/")
    page.keyboard.type("merge op:MergeV2Checkpoints")
    hit = page.locator(".gs-hit", has_text="MergeV2Checkpoints").first
    hit.click()
    answered(page)
    said(page, "inside StatefulPartitionedCall_1: an edit inlines the call")
    merge = box(page, ed.find("op:MergeV2Checkpoints")[0])
    merge.wait_for()
    page.locator(".gs-inspector", has_text="called by StatefulPartitionedCall_1").wait_for()
    shot(page, "calls-search")

    # the frame folds again
    box(page, f"{outer}_1/").focus()
    page.keyboard.press("Enter")
    box(page, f"{outer}_1").wait_for()


def test_what_is_inside_a_call_is_marked_copied_edited_and_taken_back(page: Any, corpus: Any) -> None:
    ed = gs.open(corpus.path("mlperf_tiny_kws"), raw=True)
    WidgetPage(page, ed.screen)
    outer = "StatefulPartitionedCall"
    inner = f"{outer}/{outer}"
    for call in (outer, inner):
        box(page, call).dblclick()
        box(page, call).wait_for(state="detached")
        fit(page)
    model = box(page, f"{inner}/functional_1/")
    model.wait_for()
    model.dblclick()
    first, last = f"{inner}/functional_1/conv2d/", f"{inner}/functional_1/activation/Relu"
    box(page, first).wait_for()
    fit(page)
    shot(page, "inside-1-unfolded")

    # all that looks like one of its ops is found, where the calls are unfolded
    box(page, last).click(button="right")
    page.get_by_role("menuitem", name="Find all similar").click()
    said(page, "places like this")
    answered(page)
    assert len(ed.screen.selection) == ed.select(name=last).graph.types.count("Relu") > 1
    fit(page)
    shot(page, "inside-2-alike")

    # two layers are selected with the mouse, and their boundary marked
    box(page, first).click()
    answered(page)
    said(page, "an edit inlines the call, a copy does not change it")
    box(page, last).click(modifiers=["Control"])
    answered(page)
    shot(page, "inside-2-selected")
    page.keyboard.press("Shift+B")
    said(page, "Boundary:")
    answered(page)
    shot(page, "inside-3-boundary")
    assert len(ed.screen.region) > 3

    # a copy: the call stays as it is
    page.keyboard.press("c")
    page.wait_for_selector(".gs-pane-destination [data-name^='copy/']")
    answered(page)
    fit(page)
    shot(page, "inside-4-preview")
    assert "left as it is" in str(ed.draft.preview())
    # a placeholder that the plan makes can be clicked as any op
    made = ed.draft.effect.copies[0].placeholders[0].name
    box(page, made, "destination").click()
    page.locator(".gs-inspector", has_text=made.rpartition("/")[2]).get_by_text("Placeholder", exact=True).wait_for(
        state="attached"
    )
    answered(page)
    assert page.locator(".gs-level-error").count() == 0
    shot(page, "inside-4-placeholder")
    apply(page)
    answered(page)
    shot(page, "inside-5-applied")
    page.keyboard.press("Control+z")
    said(page, "undone: ")
    answered(page)

    # an edit: the call is inlined, as a step of its own; Ctrl+Z takes both back
    box(page, last).focus()
    page.keyboard.press("Delete")
    said(page, "will be removed")
    answered(page)
    page.wait_for_selector(".gs-pane-destination .gs-box")
    fit(page)
    shot(page, "inside-6-edit")
    assert [type(step).__name__ for step in ed.draft.steps] == ["InlineStep", "RemoveStep"]
    apply(page)
    answered(page)
    shot(page, "inside-7-edited")
    assert not {last, outer} & set(ed.snapshot.index)
    page.keyboard.press("Control+z")
    said(page, "undone: ")
    answered(page)
    assert outer in ed.snapshot.index


def test_another_signature_is_chosen_from_the_list_at_the_top(page: Any, corpus: Any) -> None:
    ed = gs.open(corpus.path("tf2_multi_signature_module"))
    WidgetPage(page, ed.screen)
    first, *others = ed.opened_graph.serving.names
    button = page.get_by_role("button", name="Signatures and functions of the file")
    assert first in button.text_content()
    button.click()
    page.get_by_role("menuitemcheckbox", name=others[0]).wait_for()
    shot(page, "served-2-list")
    page.get_by_role("menuitemcheckbox", name=others[0]).click()
    page.locator(".gs-serves", has_text=others[0]).wait_for()
    answered(page)
    shot(page, "served-3-other")
    assert ed.opened_graph.serving.opened_signature.removeprefix("function ") == others[0]


class Clipped(tf.Module):
    """A module with a gradient of its own."""

    @tf.function(input_signature=[tf.TensorSpec([None], name="x")])
    def __call__(self, x: Any) -> Any:
        @tf.custom_gradient
        def clipped(x: Any) -> Any:
            y = tf.exp(x, name="inner")
            return y, lambda dy: tf.clip_by_value(dy * y, -0.1, 0.1)

        return tf.sin(clipped(x) * 2.0)


def test_a_custom_gradient_unfolds_below_its_op(page: Any, tmp_path: Path) -> None:
    module = Clipped()
    tf.saved_model.save(module, tmp_path, signatures=module.__call__)
    ed = gs.open(tmp_path)
    WidgetPage(page, ed.screen)
    assert "gradient" in box(page, "IdentityN").text_content()
    shot(page, "gradient-folded")
    box(page, "IdentityN").dblclick()
    inside = box(page, "IdentityN/gradient/")
    inside.wait_for()
    fit(page)
    shot(page, "gradient-unfolded")
    inside.dblclick()
    last = box(page, "IdentityN/gradient/mul")
    last.wait_for()
    fit(page)
    last.click()
    answered(page)
    said(page, "in the gradient of IdentityN: a copy does not change it")
    page.locator(".gs-inspector", has_text="the gradient of IdentityN").wait_for()
    shot(page, "gradient-inside")
    assert list(ed.selection.names) == ["IdentityN/gradient/mul"]
