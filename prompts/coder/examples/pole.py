def compute_reward(state, action, next_state):
    # Increments: what this step gained in uprightness, taken back when it is lost.
    lean_before = 1.0 - np.cos(state.pole_angle)
    lean = 1.0 - np.cos(next_state.pole_angle)
    righting = 5.0 * (lean_before - lean)
    centring = 2.0 * (np.abs(state.cart_x) - np.abs(next_state.cart_x)) / 2.4
    upright = 0.1 * np.exp(-4.0 * lean)
    effort = -0.01 * np.mean(np.square(action), axis=-1)
    components = {"righting": righting, "centring": centring, "upright": upright, "effort": effort}
    return righting + centring + upright + effort, components
