"""What each method must be able to show on small numbers, and the test that shows it: none of them may get lost."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

TRANSFORMS, CLUSTERS = "features/models/test_transforms.py", "features/test_clusters.py"
ENSEMBLE, COMPATIBLE = "features/losses/test_ensemble.py", "features/losses/test_compatible.py"
UNIVERSAL, DIVIDED = "features/losses/test_universal.py", "features/losses/test_divided.py"
ATTRIBUTES, MINING = "features/losses/test_attributes.py", "features/test_mining.py"

SHOWN: dict[str, dict[str, tuple[str, ...]]] = {
    "ensemble": {
        "T1 transforms start as the identity": (TRANSFORMS, "test_starts_as_the_identity"),
        "T2 parameters of a transform": (TRANSFORMS, "test_parameters_of_the_paper"),
        "T3 identities of the variance": (TRANSFORMS, "test_variance_of_an_ensemble"),
        "T4 unrelated models, before and after": (ENSEMBLE, "test_unrelated_models_become_comparable"),
        "T5 better than its members, variance follows noise": (
            ENSEMBLE,
            "test_ensemble_beats_its_members_and_knows_its_noise_and_its_intruders",
        ),
        "T6 intruders have the largest variance": (
            ENSEMBLE,
            "test_ensemble_beats_its_members_and_knows_its_noise_and_its_intruders",
        ),
        "T7 dual classification is symmetric": (ENSEMBLE, "test_dual_classification_is_symmetric"),
        "T8 equal vectors cost nothing": (ENSEMBLE, "test_equal_vectors_cost_nothing"),
    },
    "compatible": {
        "T1 the printed gains": ("analyses/test_compatible.py", "test_the_printed_tables"),
        "T2 aligned and inside costs nothing": (COMPATIBLE, "test_nothing_to_pay_when_aligned_and_inside"),
        "T3 gradient of the boundary": (COMPATIBLE, "test_boundary_gradient_is_the_tangent_or_nothing"),
        "T4 a rotation is learned, and is chance without": (COMPATIBLE, "test_upgrades_of_a_rotation"),
        "T5 distance of points": (COMPATIBLE, "test_point_distance_is_two_minus_two_cosines"),
        "T6 more and fewer dimensions": (
            COMPATIBLE,
            "test_other_dimensions_with_transforms",
            "test_bct_refuses_fewer_dimensions",
        ),
        "T7 as good as L2 with points farther apart": (COMPATIBLE, "test_upgrades_of_a_rotation"),
    },
    "universal": {
        "T1 one part is CosFace": (UNIVERSAL, "test_one_part_and_constant_confidence_are_cosface"),
        "T2 gradients in closed form": (UNIVERSAL, "test_gradients_have_the_closed_form"),
        "T3 Gaussians give a softmax of cosines": (UNIVERSAL, "test_gaussian_posterior_is_the_softmax_of_cosines"),
        "T4 gradient of the regulariser": (UNIVERSAL, "test_the_regulariser_pulls_by_twice_the_confidence"),
        "T5 least of the adversarial term": (
            UNIVERSAL,
            "test_the_adversarial_term_is_smallest_where_nothing_can_be_told",
        ),
        "T6 masks": (UNIVERSAL, "test_masks_choose_half_of_the_groups_and_differ"),
        "T7 confidence gates the gradient": (UNIVERSAL, "test_confidence_gates_the_gradient"),
        "T8 equal variances, and a part nobody is sure of": (UNIVERSAL, "test_equal_variances_rank_like_distance"),
        "T9 fusion of equal variances": (UNIVERSAL, "test_fusion_weighs_by_precision"),
        "T10 confidence after calibration": (UNIVERSAL, "test_calibrated_confidence_tells_clean_from_noised"),
    },
    "divided": {
        "T1 one learner is plain training": (DIVIDED, "test_one_learner_is_plain_training"),
        "T2 a learner moves its rows only": (DIVIDED, "test_a_learner_moves_its_own_rows_only"),
        "T3 clusters keep their learners": (
            CLUSTERS,
            "test_a_change_of_names_is_undone",
            "test_every_permutation_is_undone_with_some_pictures_moved",
        ),
        "T4 identical partitions": (CLUSTERS, "test_identical_partitions_have_the_identity"),
        "T5 values by hand": (DIVIDED, "test_hand_values"),
        "T6 negatives": (
            DIVIDED,
            "test_distance_weighted_pairs",
            "test_frequencies_follow_the_inverse_density",
        ),
        "T7 lengths": (DIVIDED, "test_slices_have_length_one_and_the_whole_the_root_of_their_number"),
        "T8 two factors": (
            DIVIDED,
            "test_learners_of_two_factors_say_different_things",
            "test_learners_are_not_led_astray_by_noise",
        ),
        "T9 recall never falls": (DIVIDED, "test_recall_never_falls_with_k"),
    },
    "attributes": {
        "T1 terms and gradients": (ATTRIBUTES, "test_terms_and_gradients_are_those_of_the_equations"),
        "T2 least of the adversarial term": (ATTRIBUTES, "test_nobody_is_least_where_all_are_as_likely"),
        "T3 identities go, the attribute stays": (
            ATTRIBUTES,
            "test_the_adversary_takes_identities_out_and_leaves_the_attribute",
        ),
        "T4 mining against a loop": (MINING, "test_mining_against_a_loop"),
        "T5 mined labels stand in u": (MINING, "test_mined_variations_stand_beside_those_that_were_done"),
        "T6 soft labels": (UNIVERSAL, "test_labels_of_mined_variations_may_be_soft"),
    },
}


@cache
def _functions(file: str) -> frozenset[str]:
    tree = ast.parse((TESTS / file).read_bytes())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize(("method", "count"), {"ensemble": 8, "compatible": 7, "universal": 10, "divided": 9}.items())
def test_all_are_listed(method: str, count: int) -> None:
    assert [what.split()[0] for what in SHOWN[method]] == [f"T{number}" for number in range(1, count + 1)]


@pytest.mark.parametrize("method", SHOWN)
def test_each_has_its_test(method: str) -> None:
    lost = [
        (what, name) for what, (file, *names) in SHOWN[method].items() for name in names if name not in _functions(file)
    ]
    assert not lost
