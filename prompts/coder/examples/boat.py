def compute_reward(state, action, next_state):
    # Increments: what this step gained on the way to the pier, taken back when it is lost.
    before = np.linalg.norm(state.boat_xy - state.pier_xy, axis=-1)
    after = np.linalg.norm(next_state.boat_xy - next_state.pier_xy, axis=-1)
    approach = 10.0 * (before - after) / 50.0
    docked = 0.2 * np.exp(-after) / (1.0 + np.square(next_state.speed))
    fuel = -0.01 * np.mean(np.square(action), axis=-1)
    components = {"approach": approach, "docked": docked, "fuel": fuel}
    return approach + docked + fuel, components
